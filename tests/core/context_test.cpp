// SPDX-License-Identifier: Apache-2.0
// Contexts: the process default, binding of slot sets, and their errors.
#include "kernelwright/core/context.hpp"

#include <gtest/gtest.h>

#include "core/support/blend.hpp"
#include "core/support/test_port.hpp"
#include "core/support/toy_operations.hpp"
#include "kernelwright/core/slot.hpp"
#include "support/expect_error.hpp"

namespace kw {
namespace {

using test::expect_error;

class ContextTest : public testing::Test {
 protected:
  Settings choosing(const std::string& what, std::vector<std::string> targets,
                    Source source = Source::kExplicit, const std::string& origin = "test") {
    Settings settings;
    settings.set(*catalog, what, std::move(targets), source, origin);
    return settings;
  }

  std::unique_ptr<Catalog> catalog = toy::make_full_catalog();
  toy::TestPort port;
};

TEST_F(ContextTest, BindReportsEverySlot) {
  Context context(*catalog, choosing("shift", {"eager"}), port);
  OpSlot scale{"scale", "standard"}, shift{"shift", "standard"};
  SlotSet slots{&scale, &shift};
  const BindReport report = context.bind(slots);
  ASSERT_EQ(report.slots.size(), 2U);
  EXPECT_EQ(report.slots[0].bound, "cpu.narrow.scale");
  EXPECT_EQ(report.slots[0].reason, "auto");
  EXPECT_EQ(report.slots[0].origin, "default");
  EXPECT_EQ(report.slots[1].bound, "eager");
  EXPECT_EQ(report.slots[1].reason, "eager by choice (test)");
  EXPECT_EQ(report.slots[1].origin, "test");
  EXPECT_TRUE(scale.bound());
  EXPECT_FALSE(shift.bound());
  slots.unbind();
}

TEST_F(ContextTest, BindFailsAsAWhole) {
  Context context(*catalog, choosing("push", {"standard_only"}), port);
  OpSlot scale{"scale", "standard"}, strict{"push", "strict"};
  SlotSet slots{&scale, &strict};
  expect_error(Code::kUnsupported,
               {"slot push/strict: 'standard_only' was asked for (test)",
                "serves variant standard, not strict",
                "Available for push/strict here: cpu.plain.push, eager"},
               [&] { context.bind(slots); });
  EXPECT_FALSE(scale.bound()) << "nothing is attached";
}

TEST_F(ContextTest, BindNamesUnknownSlots) {
  Context context(*catalog, {}, port);
  OpSlot typo{"scael", "standard"}, variant{"push", "strct"};
  SlotSet one{&typo}, two{&variant};
  expect_error(Code::kNotFound, {"unknown operation 'scael'; did you mean 'scale'?"},
               [&] { context.bind(one); });
  expect_error(Code::kNotFound, {"push: unknown variant 'strct'; did you mean 'strict'?"},
               [&] { context.bind(two); });
}

TEST_F(ContextTest, SlotsOfPlannedOperationsStayEager) {
  catalog->add_known_field({"dream_implementation", "dream", "", ""});
  Context context(*catalog, {}, port);
  OpSlot dream{"dream", "standard"};
  SlotSet slots{&dream};
  const BindReport report = context.bind(slots);
  EXPECT_EQ(report.slots[0].bound, "eager");
  EXPECT_EQ(report.slots[0].reason, "operation not in this build");
}

TEST_F(ContextTest, FieldsWithoutASlotAreReported) {
  Settings settings;
  settings.load_yaml(
      *catalog,
      "model:\n  ops_implementation:\n    scale_implementation: plain\n    push_backend: plain\n",
      "m.yaml");
  Context context(*catalog, settings, port);
  OpSlot scale{"scale", "standard"};
  SlotSet slots{&scale};
  EXPECT_EQ(context.bind(slots).unused_fields, std::vector<std::string>{"push_backend"});
  slots.unbind();
}

TEST_F(ContextTest, TwoContextsKeepTheirBindingsApart) {
  Context one(*catalog, choosing("scale", {"plain"}), port),
      two(*catalog, choosing("scale", {"scratch"}), port);
  OpSlot a{"scale", "standard"}, b{"scale", "standard"};
  SlotSet first{&a}, second{&b};
  one.bind(first);
  two.bind(second);
  EXPECT_EQ(a.repr(), "OpSlot(scale/standard -> cpu.plain.scale)");
  EXPECT_EQ(b.repr(), "OpSlot(scale/standard -> cpu.scratch.scale)");
  first.unbind();
  second.unbind();
}

TEST_F(ContextTest, FailedResolvePublishesNothing) {
  expect_error(Code::kUnsupported, {"cuda.fast.push", "cannot run on cpu"},
               [&] { Context(*catalog, choosing("push", {"cuda.fast.push"}), port); });
}

TEST_F(ContextTest, PrepareSharesPlansAndReportsTheChoice) {
  Context context(*catalog, {}, port);
  const auto parse = [&](const char* text) { return parse_problem(text, *catalog); };
  EXPECT_EQ(context.prepare(parse("scale/standard x=f32[4,64]")).info.name, "cpu.narrow.scale");
  EXPECT_EQ(context.prepare(parse("scale/standard x=f32[9,32]")).info.name, "cpu.narrow.scale");
  EXPECT_EQ(context.prepare(parse("scale/standard x=f32[9,65]")).info.name, "cpu.plain.scale");
  EXPECT_EQ(context.counters().plans_built, 2U);
  expect_error(Code::kNotFound, {"unknown operation 'scal'"},
               [&] { context.binding("scal", "standard"); });
}

TEST_F(ContextTest, PrepareWithoutACandidateSaysWhy) {
  Context context(*catalog, choosing("scale", {"eager"}), port);
  expect_error(Code::kUnsupported,
               {"no implementation serves 'scale/standard x=f32[4,64]' (choice eager from test)",
                "eager by choice", "Would accept: cpu.narrow.scale, cpu.plain.scale"},
               [&] { context.prepare(parse_problem("scale/standard x=f32[4,64]", *catalog)); });
}

// One process default per process: the only test that touches it.
TEST(ProcessDefault, OneShotRule) {
  static const auto catalog = toy::make_catalog();
  static toy::TestPort port, other_port;
  EXPECT_EQ(Context::process_default(), nullptr);
  Settings settings;
  settings.set(*catalog, "scale", {"plain"}, Source::kExplicit, "first");
  Context& first = Context::initialize(*catalog, settings, port);
  EXPECT_EQ(Context::process_default(), &first);
  Settings same;
  same.set(*catalog, "scale", {"plain"}, Source::kFile, "elsewhere");
  EXPECT_EQ(&Context::initialize(*catalog, same, port), &first) << "origins do not count";
  Settings other;
  other.set(*catalog, "scale", {"narrow"}, Source::kExplicit, "second");
  expect_error(Code::kConflict,
               {"already initialised in this process with", "scale=plain", "scale=narrow",
                "use a new process, or a Context of your own"},
               [&] { Context::initialize(*catalog, other, port); });
  Settings lazy = settings;
  lazy.prepare_on_miss = false;
  expect_error(Code::kConflict, {"already initialised"},
               [&] { Context::initialize(*catalog, lazy, port); });
  expect_error(Code::kConflict, {"already initialised", "test cpu"},
               [&] { Context::initialize(*catalog, settings, other_port); });
  EXPECT_EQ(Context::process_default(), &first);
}

}  // namespace
}  // namespace kw
