// SPDX-License-Identifier: Apache-2.0
// require_evidence: asked once per plan, of parts too, before anything is published; never passed
// by for another entry, and never on a hit.
#include "kernelwright/core/evidence.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/support/blend.hpp"
#include "core/support/test_port.hpp"
#include "core/support/toy_operations.hpp"
#include "kernelwright/core/binding.hpp"
#include "kernelwright/core/explain.hpp"
#include "kernelwright/core/slot.hpp"
#include "support/expect_error.hpp"

namespace kw {
namespace {

using test::expect_error;

// Knows the implementations that were put into `proven`.
class FakeGate final : public EvidenceGate {
 public:
  EvidenceAnswer look_up(const EvidenceQuery& query) const override {
    asked.push_back(query.implementation.info.name + " " + problem_text(query.problem) + " " +
                    std::string(mode_name(query.mode)) + " " + query.hardware.model);
    if (proven.contains(query.implementation.info.name)) return {true, "batch ci"};
    return {false, "nobody ran it. `kw numerics` does"};
  }

  std::set<std::string> proven;
  mutable std::vector<std::string> asked;
};

class EvidenceTest : public testing::Test {
 protected:
  EvidenceTest() { catalog->set_evidence_gate(gate); }
  ~EvidenceTest() override { slots.unbind(); }

  Context& make(bool required = true) {
    slots.unbind();
    Settings settings;
    settings.require_evidence = required;
    settings.require_evidence_origin = "run.yaml:2";
    context = std::make_unique<Context>(*catalog, settings, port);
    context->bind(slots);
    return *context;
  }
  Problem parse(const std::string& text) const { return parse_problem(text, *catalog); }
  Status call() {
    std::vector<float> x(2 * 8, 5), y(x.size());
    const toy::ScaleArgs args{TensorView(x.data(), DType::kF32, {2, 8}),
                              TensorView(y.data(), DType::kF32, {2, 8}), 3};
    const Status status = scale.try_call(args);
    if (status) EXPECT_EQ(y[3], 15);
    return status;
  }

  std::shared_ptr<FakeGate> gate = std::make_shared<FakeGate>();
  std::unique_ptr<Catalog> catalog = toy::make_full_catalog();
  toy::TestPort port;
  std::unique_ptr<Context> context;
  OpSlot scale{"scale", "standard"};
  SlotSet slots{&scale};
};

constexpr const char* kProblem = "scale/standard x=f32[2,8]";

TEST_F(EvidenceTest, RefusesWithProblemOriginAndWhatTheGateSays) {
  make();
  expect_error(
      Code::kUnsupported,
      {"cpu.narrow.scale would serve 'scale/standard x=f32[2,8]'",
       "require_evidence is on (run.yaml:2)", "on test cpu", "nobody ran it. `kw numerics` does"},
      [&] { context->prepare(parse(kProblem)); });
  EXPECT_EQ(context->counters().plans_built, 0U) << "nothing is published";
  EXPECT_EQ(call().code, StatusCode::kUnsupported);
  EXPECT_NE(last_message().find("run.yaml:2"), std::string::npos) << last_message();
}

// What runs would otherwise depend on what a cache happens to hold.
TEST_F(EvidenceTest, AutoDoesNotPassAnEntryBy) {
  gate->proven = {"cpu.plain.scale"};
  make();
  expect_error(Code::kUnsupported, {"cpu.narrow.scale would serve"},
               [&] { context->prepare(parse(kProblem)); });
  EXPECT_EQ(context->prepare(parse("scale/standard x=f32[2,100]")).info.name, "cpu.plain.scale");
}

TEST_F(EvidenceTest, IsAskedOncePerPlanAndNeverOnAHit) {
  gate->proven = {"cpu.narrow.scale"};
  make();
  ASSERT_TRUE(call());
  ASSERT_EQ(gate->asked.size(), 1U);
  EXPECT_EQ(gate->asked[0], "cpu.narrow.scale scale/standard x=f32[2,8] scale=3 eager test cpu");
  ASSERT_TRUE(call());
  context->prepare(parse("scale/standard x=f32[?,8]"));
  EXPECT_EQ(gate->asked.size(), 1U);
}

TEST_F(EvidenceTest, IsNotAskedWhileCapturingOrWhereNobodyRequiresIt) {
  make();
  port.capturing = true;
  EXPECT_EQ(call().code, StatusCode::kNotPrepared);
  port.capturing = false;
  make(false);
  EXPECT_TRUE(call());
  EXPECT_TRUE(gate->asked.empty());
}

TEST_F(EvidenceTest, PartsOfAComposedPlanNeedTheirOwn) {
  const Problem affine = parse("affine/standard x=f32[2,8] scale=2 shift=1");
  gate->proven = {"cpu.composed.affine", "cpu.narrow.scale"};
  make();
  expect_error(Code::kUnsupported, {".shift would serve 'shift/standard"},
               [&] { context->prepare(affine); });
  for (const Implementation& entry : catalog->operation("shift").implementations)
    gate->proven.insert(entry.info.name);
  context->prepare(affine);
  EXPECT_EQ(context->counters().plans_built, 3U);
}

TEST_F(EvidenceTest, WithoutAGateThereIsNone) {
  catalog = toy::make_full_catalog();
  make();
  expect_error(Code::kUnsupported, {"no store of evidence", "set_evidence_gate"},
               [&] { context->prepare(parse(kProblem)); });
  expect_error(Code::kConflict, {"too late"}, [&] { catalog->set_evidence_gate(gate); });
}

TEST_F(EvidenceTest, ExplainTellsWhetherThereIsSome) {
  const auto look = [&] {
    Explanation explanation = explain(*context, parse(kProblem));
    EXPECT_FALSE(explanation.evidence) << "not asked for";
    look_up_evidence(*context, port, parse(kProblem), explanation);
    return explanation;
  };
  for (const bool required : {false, true}) {
    gate->proven.clear();
    make(required);
    const Explanation none = look();
    EXPECT_EQ(none.require_evidence, required);
    EXPECT_EQ(none.require_evidence_origin, "run.yaml:2");
    ASSERT_TRUE(none.evidence);
    EXPECT_FALSE(none.evidence->found);
    EXPECT_EQ(none.evidence->text, "nobody ran it. `kw numerics` does");
    gate->proven = {"cpu.narrow.scale"};
    const Explanation some = look();
    ASSERT_TRUE(some.evidence);
    EXPECT_TRUE(some.evidence->found);
    EXPECT_EQ(context->counters().plans_built, 0U);
  }
}

}  // namespace
}  // namespace kw
