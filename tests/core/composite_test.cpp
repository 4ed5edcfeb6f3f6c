// SPDX-License-Identifier: Apache-2.0
// Implementations made of other operations: choice, rejection, plans and workspace of their parts.
#include <gtest/gtest.h>

#include <algorithm>

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
using Choices = std::vector<std::pair<std::string, std::string>>;  // operation, targets

class CompositeTest : public testing::Test {
 protected:
  CompositeTest() { toy::register_watchful(*catalog); }
  ~CompositeTest() override { slots.unbind(); }

  void make(const Choices& choices) {
    slots.unbind();
    Settings settings;
    for (const auto& [operation, target] : choices)
      settings.set(*catalog, operation, parse_targets(target), Source::kExplicit, "test");
    context = std::make_unique<Context>(*catalog, settings, port);
    context->bind(slots);
  }

  // y = 2 x + 1 over [rows, columns]; checked.
  Status run(std::int64_t rows, std::int64_t columns) {
    std::vector<float> x(static_cast<std::size_t>(rows * columns), 5), y(x.size());
    const toy::AffineArgs args{TensorView(x.data(), DType::kF32, {rows, columns}),
                               TensorView(y.data(), DType::kF32, {rows, columns}), 2, 1};
    const Status status = affine.try_call(args);
    if (status) {
      EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](float v) { return v == 11; }));
    }
    return status;
  }

  Problem parse(const std::string& text) const { return parse_problem(text, *catalog); }

  std::unique_ptr<Catalog> catalog = toy::make_full_catalog();
  toy::TestPort port;
  std::unique_ptr<Context> context;
  OpSlot affine{"affine", "standard"};
  SlotSet slots{&affine};
};

TEST_F(CompositeTest, ComputesThroughItsParts) {
  make({});
  EXPECT_TRUE(run(3, 8));
  EXPECT_EQ(context->counters().plans_built, 3U);
  const auto& plan =
      context->binding("affine", "standard").prepare(parse("affine/standard x=f32[3,8]"), port, {});
  EXPECT_EQ(plan.describe(),
            (PlanFacts{{"scale", "cpu.narrow.scale"}, {"shift", "cpu.plain.shift"}}));
}

// One specialization of the whole, two choices of a part: two plans, or the wide call would run the
// narrow part outside its domain.
TEST_F(CompositeTest, PlansAreNotSharedBetweenDifferentParts) {
  make({});
  EXPECT_TRUE(run(3, 8));
  EXPECT_TRUE(run(3, 100));
  auto& binding = context->binding("affine", "standard");
  const Plan& narrow = binding.prepare(parse("affine/standard x=f32[3,8]"), port, {});
  const Plan& wide = binding.prepare(parse("affine/standard x=f32[3,100]"), port, {});
  EXPECT_NE(&narrow, &wide);
  EXPECT_EQ(wide.describe()[0].second, "cpu.plain.scale");
  EXPECT_EQ(&narrow, &binding.prepare(parse("affine/standard x=f32[77,16]"), port, {}))
      << "equal parts share";
}

TEST_F(CompositeTest, OverridesChooseTheParts) {
  make({{"scale", "oracle"}});
  EXPECT_TRUE(run(2, 8));
  const Explanation explanation = explain(*context, parse("affine/standard x=f32[2,8]"));
  ASSERT_EQ(explanation.parts.size(), 2U);
  EXPECT_EQ(explanation.parts[0].problem, "scale/standard x=f32[2,8]");
  EXPECT_EQ(explanation.parts[0].implementation, "cpu.oracle.scale");
  EXPECT_EQ(explanation.parts[1].implementation, "cpu.plain.shift");
}

TEST_F(CompositeTest, TheDomainIsThatOfEveryPart) {
  make({{"scale", "narrow"}});
  EXPECT_TRUE(run(2, 64));
  EXPECT_EQ(run(2, 65).code, StatusCode::kUnsupported);
  const std::string text = last_message();
  for (const char* word :
       {"no implementation serves 'affine/standard x=f32[2,65]",
        "cpu.composed.affine: part: no implementation of its part 'scale/standard x=f32[2,65]",
        "cpu.narrow.scale: shape: C = 65 is above 64"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << " not in: " << text;
  }
}

TEST_F(CompositeTest, APartThatTheUserMadeEagerRejectsTheWhole) {
  make({{"shift", "eager"}});
  EXPECT_EQ(run(2, 8).code, StatusCode::kUnsupported);
  EXPECT_NE(last_message().find("no implementation of its part 'shift/standard x=f32[2,8]"),
            std::string::npos)
      << last_message();
  EXPECT_NE(last_message().find("eager by choice (test)"), std::string::npos) << last_message();
}

TEST_F(CompositeTest, WorkspaceCoversTheParts) {
  make({{"scale", "careful"}});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run(3, 40)) << last_message();
  const Recipe recipe =
      context->binding("affine", "standard").decide(parse("affine/standard x=f32[3,40]"), port, {});
  EXPECT_EQ(recipe.workspace.zeroed_bytes, 192);
  EXPECT_EQ(recipe.workspace.bytes, 192 + 192) << "160 bytes of scratch in whole lines";
  EXPECT_EQ(port.reservations, 1);
  ASSERT_TRUE(run(3, 4000)) << last_message();
  EXPECT_EQ(port.reservations, 2);
  ASSERT_TRUE(run(3, 40)) << last_message();
}

TEST_F(CompositeTest, OwnScratchLiesBesideThatOfTheParts) {
  make({{"affine", "buffered"}, {"scale", "careful"}});
  for (const std::int64_t columns : {8, 40, 333, 8}) ASSERT_TRUE(run(2, columns)) << last_message();
  const Recipe recipe =
      context->binding("affine", "standard").decide(parse("affine/standard x=f32[2,8]"), port, {});
  EXPECT_EQ(recipe.workspace.bytes, 192 + 64 + 100);
  EXPECT_EQ(recipe.layout.offset, 256);
  ASSERT_EQ(recipe.layout.parts.size(), 2U);
  EXPECT_EQ(recipe.layout.parts[0].offset, 0);
  EXPECT_EQ(recipe.layout.parts[1].offset, 192) << "no zeros of its own: it begins where they end";
}

// scale (nested) is affine (buffered) is scale (careful) and shift: each with workspace of its own.
TEST_F(CompositeTest, PartsOfPartsHaveTheirPlace) {
  make({{"affine", "buffered"}, {"scale", "nested, careful"}});
  OpSlot scale{"scale", "standard"};
  SlotSet set{&scale};
  context->bind(set);
  for (const std::int64_t columns : {8, 100, 8}) {
    std::vector<float> x(static_cast<std::size_t>(2 * columns), 5), y(x.size());
    ASSERT_TRUE(scale.try_call(toy::ScaleArgs{TensorView(x.data(), DType::kF32, {2, columns}),
                                              TensorView(y.data(), DType::kF32, {2, columns}), 2}))
        << last_message();
    EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](float v) { return v == 10; }));
  }
  const Problem problem = parse("scale/standard x=f32[2,8]");
  const Recipe recipe = context->binding("scale", "standard").decide(problem, port, {});
  EXPECT_EQ(recipe.workspace.zeroed_bytes, 192);
  EXPECT_EQ(recipe.layout.offset, 192 + 192) << "192 zeros, 64 + 100 of scratch in whole lines";
  const Explanation explanation = explain(*context, problem);
  EXPECT_EQ(explanation.selected, "cpu.nested.scale");
  ASSERT_EQ(explanation.parts.size(), 1U);
  ASSERT_EQ(explanation.parts[0].parts.size(), 2U);
  EXPECT_EQ(explanation.parts[0].parts[0].implementation, "cpu.careful.scale")
      << "nested is no part of itself";
  set.unbind();
}

TEST_F(CompositeTest, SelfReferenceIsRefusedNotFollowed) {
  make({{"scale", "cyclic"}});
  expect_error(Code::kUnsupported,
               {"cpu.cyclic.scale: part: no implementation of its part 'scale/standard x=f32[2,8]'",
                "cpu.cyclic.scale: part: it would be a part of itself"},
               [&] { context->prepare(parse("scale/standard x=f32[2,8]")); });
  make({{"scale", "cyclic, plain"}});
  EXPECT_EQ(context->prepare(parse("scale/standard x=f32[2,8]")).info.name, "cpu.cyclic.scale");
  make({{"affine", "buffered"}, {"scale", "nested"}});
  EXPECT_EQ(run(2, 8).code, StatusCode::kUnsupported);
  EXPECT_NE(last_message().find("cpu.buffered.affine: part: it would be a part of itself"),
            std::string::npos)
      << last_message();
}

TEST_F(CompositeTest, ZeroedBytesOfACompositeAreADefect) {
  make({{"affine", "greedy"}});
  expect_error(Code::kInternal,
               {"cpu.greedy.affine: the own workspace of a composed implementation has no zeroed "
                "bytes; it asks for 64"},
               [&] { context->prepare(parse("affine/standard x=f32[2,8]")); });
}

TEST_F(CompositeTest, CapturingAsksForTheWholeTree) {
  make({{"scale", "careful"}});
  port.capturing = true;
  EXPECT_EQ(run(2, 8).code, StatusCode::kNotPrepared);
  port.capturing = false;
  context->prepare(parse("affine/standard x=f32[2,8]"));
  port.capturing = true;
  EXPECT_TRUE(run(2, 8)) << last_message();
}

}  // namespace
}  // namespace kw
