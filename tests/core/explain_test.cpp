// SPDX-License-Identifier: Apache-2.0
// explain: a verdict for every implementation, where the choice came from, and the tree of parts.
#include "kernelwright/core/explain.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/support/blend.hpp"
#include "core/support/test_port.hpp"
#include "core/support/toy_operations.hpp"
#include "support/expect_error.hpp"

namespace kw {
namespace {

using test::expect_error;

class ExplainTest : public testing::Test {
 protected:
  std::unique_ptr<Catalog> catalog = toy::make_full_catalog();
  toy::TestPort port;
  Settings settings;
};

TEST_F(ExplainTest, EveryImplementationOfEveryOperationHasOneVerdictWithAReason) {
  const Context context(*catalog, settings, port);
  for (const Operation& operation : catalog->operations()) {
    for (const Variant& variant : operation.contract->variants) {
      const Explanation explanation = explain(context, operation.contract->operation, variant.name);
      std::set<std::string> names;
      for (const Verdict& verdict : explanation.verdicts) {
        EXPECT_FALSE(verdict.reason.empty()) << verdict.implementation;
        EXPECT_TRUE(names.insert(verdict.implementation).second) << verdict.implementation;
      }
      EXPECT_EQ(names.size(), operation.implementations.size()) << operation.contract->operation;
    }
  }
  EXPECT_EQ(port.capture_queries + port.reservations, 0) << "no device was touched";
}

TEST_F(ExplainTest, WithoutAProblemTheListIsPrintedInRankOrder) {
  const Context context(*catalog, settings, port);
  const Explanation explanation = explain(context, "scale", "standard");
  EXPECT_EQ(explanation.selected, "cpu.narrow.scale");
  EXPECT_EQ(explanation.device, "cpu:0 test cpu");
  EXPECT_EQ(explanation.mode, "eager");
  std::vector<int> ranks;
  for (const Verdict& verdict : explanation.verdicts) ranks.push_back(verdict.rank);
  EXPECT_EQ(ranks, (std::vector<int>{1, 2, 3, 4, 0}));
  EXPECT_EQ(explanation.verdicts[0].reason, "tried first; a problem decides");
  EXPECT_EQ(explanation.verdicts[1].reason, "tried after cpu.narrow.scale");
}

TEST_F(ExplainTest, WithAProblemTheRejectionsAreReal) {
  const Context context(*catalog, settings, port);
  const Explanation explanation =
      explain(context, parse_problem("scale/standard x=f32[2,100]", *catalog));
  EXPECT_EQ(explanation.selected, "cpu.plain.scale");
  EXPECT_EQ(explanation.specialization, "{}");
  EXPECT_EQ(explanation.problem, "scale/standard x=f32[2,100]");
  EXPECT_EQ(explanation.verdicts[0].gate, Gate::kProblem);
  EXPECT_EQ(explanation.verdicts[1].gate, Gate::kSelected);
  EXPECT_EQ(explanation.verdicts[2].gate, Gate::kRank);
  EXPECT_EQ(explanation.verdicts[3].gate, Gate::kChoice);
  EXPECT_EQ(explanation.verdicts[4].gate, Gate::kDevice);
}

TEST_F(ExplainTest, ConflictingSourcesShowWhoWon) {
  settings.load_yaml(*catalog, "model:\n  ops_implementation:\n    scale_implementation: oracle\n",
                     "m.yaml");
  settings.set(*catalog, "scale", {"narrow"}, Source::kExplicit, "--implementation");
  settings.apply_environment(*catalog, {{"scale", "plain"}});
  const Context context(*catalog, settings, port);
  const Explanation explanation =
      explain(context, parse_problem("scale/standard x=f32[2,8]", *catalog));
  EXPECT_EQ(explanation.selected, "cpu.plain.scale");
  EXPECT_EQ(explanation.choice.source, Source::kEnvironment);
  EXPECT_EQ(explanation.choice.origin, "KW_OVERRIDE_SCALE");
  ASSERT_EQ(explanation.history.size(), 4U);
  EXPECT_EQ(explanation.history[0].source, Source::kDefault);
  EXPECT_EQ(explanation.history[1].text(), "oracle");
  EXPECT_NE(explanation.history[1].origin.find("m.yaml:3"), std::string::npos)
      << explanation.history[1].origin;
  EXPECT_EQ(explanation.history[2].text(), "narrow");
  EXPECT_EQ(explanation.history[3].text(), "plain");
  EXPECT_EQ(explanation.verdicts[0].reason, "the choice is plain (KW_OVERRIDE_SCALE)");
}

TEST_F(ExplainTest, NothingServesIsSaidNotThrown) {
  settings.set(*catalog, "scale", {"narrow"}, Source::kExplicit, "test");
  const Context context(*catalog, settings, port);
  const Explanation explanation =
      explain(context, parse_problem("scale/standard x=f32[2,100]", *catalog));
  EXPECT_EQ(explanation.selected, "");
  EXPECT_EQ(explanation.verdicts[0].reason, "shape: C = 100 is above 64");
}

TEST_F(ExplainTest, PartsMakeATree) {
  toy::register_watchful(*catalog);
  settings.set(*catalog, "scale", {"nested"}, Source::kExplicit, "test");
  const Context cyclic(*catalog, settings, port);
  const Explanation refused = explain(cyclic, parse_problem("scale/standard x=f32[2,8]", *catalog));
  EXPECT_EQ(refused.selected, "") << "nested is affine is scale: without end";
  const Context context(*catalog, {}, port);
  const Explanation explanation =
      explain(context, parse_problem("affine/standard x=f32[2,100]", *catalog));
  EXPECT_EQ(explanation.selected, "cpu.composed.affine");
  ASSERT_EQ(explanation.parts.size(), 2U);
  EXPECT_EQ(explanation.parts[0].problem, "scale/standard x=f32[2,100]");
  EXPECT_EQ(explanation.parts[0].implementation, "cpu.plain.scale");
  EXPECT_TRUE(explanation.parts[0].parts.empty());
}

TEST_F(ExplainTest, UnknownNames) {
  const Context context(*catalog, settings, port);
  expect_error(Code::kNotFound, {"unknown operation 'scle'; did you mean 'scale'?"},
               [&] { explain(context, "scle", "standard"); });
  expect_error(Code::kNotFound, {"unknown variant 'standrd'; did you mean 'standard'?"},
               [&] { explain(context, "scale", "standrd"); });
}

}  // namespace
}  // namespace kw
