// SPDX-License-Identifier: Apache-2.0
// Resolve and select: every gate, strictness of named choices, and what is published.
#include "kernelwright/core/selection.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/support/blend.hpp"
#include "core/support/toy_operations.hpp"
#include "kernelwright/base/log.hpp"
#include "support/expect_error.hpp"

namespace kw {
namespace {

using test::expect_error;

Hardware hardware(DeviceKind kind, int capability) {
  Hardware result;
  result.kind = kind;
  result.capability = capability;
  result.model = kind == DeviceKind::kCuda ? "Fake GPU" : "test cpu";
  return result;
}

class SelectionTest : public testing::Test {
 protected:
  Bindings on(DeviceKind kind, int capability) {
    return resolve(*catalog, settings, hardware(kind, capability));
  }
  Bindings on_cpu() { return on(DeviceKind::kCpu, 2); }
  void choose(const std::string& what, std::vector<std::string> targets) {
    settings.set(*catalog, what, std::move(targets), Source::kExplicit, "test");
  }

  static std::vector<std::string> candidates(const Bindings& bindings, std::string_view operation,
                                             std::string_view variant = "standard") {
    std::vector<std::string> names;
    for (const Implementation* each : bindings.find(operation, variant)->candidates)
      names.push_back(each->info.name);
    return names;
  }
  static Verdict verdict(const Bindings& bindings, std::string_view operation,
                         std::string_view name, std::string_view variant = "standard") {
    for (const Verdict& each : bindings.find(operation, variant)->verdicts) {
      if (each.implementation == name) return each;
    }
    return {};
  }

  std::unique_ptr<Catalog> catalog = toy::make_full_catalog();
  Settings settings;
};
using Names = std::vector<std::string>;

TEST_F(SelectionTest, AutoTakesTheListInOrderWithoutOracles) {
  const Bindings bindings = on_cpu();
  EXPECT_EQ(candidates(bindings, "scale"),
            (Names{"cpu.narrow.scale", "cpu.plain.scale", "cpu.scratch.scale"}));
  const Verdict oracle = verdict(bindings, "scale", "cpu.oracle.scale");
  EXPECT_EQ(oracle.gate, Gate::kChoice);
  EXPECT_EQ(oracle.reason, "an oracle: bound only when named");
  EXPECT_EQ(oracle.rank, 4);
  const Verdict cuda = verdict(bindings, "scale", "cuda.scratch.scale");
  EXPECT_EQ(cuda.gate, Gate::kDevice);
  EXPECT_EQ(cuda.reason, "needs a cuda device; this one is cpu");
  EXPECT_EQ(cuda.rank, 0);
}

TEST_F(SelectionTest, VariantGate) {
  const Bindings bindings = on_cpu();
  EXPECT_EQ(candidates(bindings, "push"), (Names{"cpu.standard_only.push", "cpu.plain.push"}));
  EXPECT_EQ(candidates(bindings, "push", "strict"), Names{"cpu.plain.push"});
  const Verdict only = verdict(bindings, "push", "cpu.standard_only.push", "strict");
  EXPECT_EQ(only.gate, Gate::kVariant);
  EXPECT_EQ(only.reason, "serves variant standard, not strict");
}

TEST_F(SelectionTest, CapabilityGateAtItsEdges) {
  EXPECT_EQ(candidates(on(DeviceKind::kCuda, 90), "push"),
            (Names{"cuda.fast.push", "cuda.slow.push"}));
  const Bindings older = on(DeviceKind::kCuda, 89);
  EXPECT_EQ(candidates(older, "push"), Names{"cuda.slow.push"});
  const Verdict fast = verdict(older, "push", "cuda.fast.push");
  EXPECT_EQ(fast.gate, Gate::kCapability);
  EXPECT_EQ(fast.reason, "needs capability sm_90 or newer; this device has sm_89");
  const Bindings oldest = on(DeviceKind::kCuda, 75);
  EXPECT_TRUE(candidates(oldest, "push").empty());
  EXPECT_NE(oldest.find("push", "standard")
                ->absent.find("cuda.slow.push: needs capability sm_80 or newer"),
            std::string::npos);
}

TEST_F(SelectionTest, UpperCapabilityAndModeGates) {
  Implementation aging = toy::plain_blend();
  aging.info.name = "cpu.aging.blend";
  aging.info.solution = "aging";
  aging.info.max_capability = 1;
  Implementation eager_only = toy::plain_blend();
  eager_only.info.name = "cpu.immediate.blend";
  eager_only.info.solution = "immediate";
  eager_only.info.graph_mode = false;
  catalog->register_implementation("blend", aging);
  catalog->register_implementation("blend", eager_only);
  settings.mode = Mode::kGraph;
  const Bindings bindings = on_cpu();
  EXPECT_EQ(verdict(bindings, "blend", "cpu.aging.blend", "bare").reason,
            "supports devices up to capability 1 (baseline); this device has 2 (avx2)");
  EXPECT_EQ(verdict(bindings, "blend", "cpu.immediate.blend", "bare").gate, Gate::kMode);
  EXPECT_EQ(verdict(bindings, "blend", "cpu.immediate.blend", "bare").reason,
            "does not run in graph mode");
  EXPECT_EQ(candidates(bindings, "blend", "bare"), Names{"cpu.plain.blend"});
}

TEST_F(SelectionTest, NamedChoicesAreStrictAndOrdered) {
  choose("scale", {"oracle"});
  EXPECT_EQ(candidates(on_cpu(), "scale"), Names{"cpu.oracle.scale"});
  choose("scale", {"plain", "cpu.narrow.scale"});
  const Bindings bindings = on_cpu();
  EXPECT_EQ(candidates(bindings, "scale"), (Names{"cpu.plain.scale", "cpu.narrow.scale"}));
  EXPECT_TRUE(bindings.find("scale", "standard")->strict);
  EXPECT_EQ(verdict(bindings, "scale", "cpu.scratch.scale").reason,
            "the choice is [plain, cpu.narrow.scale] (test)");
}

TEST_F(SelectionTest, ExactNamesOfAbsentHardwareNameWhatIsHere) {
  choose("push", {"cuda.fast.push"});
  expect_error(Code::kUnsupported,
               {"push/standard: 'cuda.fast.push' was asked for (test) but cannot run on cpu device "
                "0 (test cpu)",
                "cuda.fast.push: needs a cuda device; this one is cpu",
                "Available here: cpu.standard_only.push, cpu.plain.push, eager"},
               [&] { on_cpu(); });
  expect_error(Code::kUnsupported,
               {"needs capability sm_90 or newer; this device has sm_80",
                "Available here: cuda.slow.push, eager"},
               [&] { on(DeviceKind::kCuda, 80); });
}

TEST_F(SelectionTest, ExcludedImplementationsGiveTheirReason) {
  catalog->exclude({"scale", "cpu.vendor.scale", "libvendor.so.2 is missing"});
  const Bindings bindings = on_cpu();
  EXPECT_EQ(verdict(bindings, "scale", "cpu.vendor.scale").gate, Gate::kDependency);
  EXPECT_EQ(verdict(bindings, "scale", "cpu.vendor.scale").reason, "libvendor.so.2 is missing");
  choose("scale", {"vendor"});
  expect_error(Code::kUnsupported, {"cpu.vendor.scale", "libvendor.so.2 is missing"},
               [&] { on_cpu(); });
}

TEST_F(SelectionTest, EagerRefusesEveryCandidateByChoice) {
  choose("scale", {"eager"});
  const Bindings bindings = on_cpu();
  EXPECT_TRUE(candidates(bindings, "scale").empty());
  EXPECT_EQ(bindings.find("scale", "standard")->absent, "eager by choice (test)");
  EXPECT_EQ(verdict(bindings, "scale", "cpu.plain.scale").reason,
            "the choice is eager: the model's own code runs");
}

TEST_F(SelectionTest, ANamedChoiceThatLacksAVariantLeavesItAbsent) {
  choose("push", {"standard_only"});
  const Bindings bindings = on_cpu();
  EXPECT_EQ(candidates(bindings, "push"), Names{"cpu.standard_only.push"});
  EXPECT_TRUE(candidates(bindings, "push", "strict").empty());
  EXPECT_NE(bindings.find("push", "strict")->absent.find("serves variant standard, not strict"),
            std::string::npos);
}

TEST_F(SelectionTest, FreezesTheCatalogAndLogsALinePerOperation) {
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view, std::string_view text) { lines.emplace_back(text); },
               LogLevel::kInfo);
  choose("scale", {"plain"});
  on_cpu();
  set_log_sink(nullptr);
  EXPECT_TRUE(catalog->frozen());
  const auto has = [&](std::string_view line) {
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  };
  EXPECT_TRUE(has("kw,select,scale/standard,cpu.plain.scale,plain from explicit"));
  EXPECT_TRUE(has("kw,select,shift/standard,cpu.plain.shift,auto from default"));
  expect_error(Code::kConflict, {"comes too late: the catalog froze at the first resolve"},
               [&] { toy::register_watchful(*catalog); });
}

TEST_F(SelectionTest, DroppedListEntriesAreLogged) {
  catalog->exclude({"scale", "cpu.vendor.scale", "libvendor.so.2 is missing"});
  choose("scale", {"vendor", "plain"});
  std::vector<std::string> warnings;
  set_log_sink([&](LogLevel, std::string_view category, std::string_view text) {
    if (category == "settings") warnings.emplace_back(text);
  });
  on_cpu();
  set_log_sink(nullptr);
  ASSERT_FALSE(warnings.empty());
  EXPECT_NE(warnings[0].find("the rest of the list is used"), std::string::npos) << warnings[0];
}

TEST_F(SelectionTest, SelectGivesEveryCandidateAVerdict) {
  const Bindings bindings = on_cpu();
  std::vector<Verdict> verdicts;
  const Problem wide = parse_problem("scale/standard x=f32[2,100]", *catalog);
  const Implementation* selected =
      select(*bindings.find("scale", "standard"), bindings, wide, *catalog, &verdicts);
  ASSERT_NE(selected, nullptr);
  EXPECT_EQ(selected->info.name, "cpu.plain.scale");
  ASSERT_EQ(verdicts.size(), 3U);
  EXPECT_EQ(verdicts[0].gate, Gate::kProblem);
  EXPECT_EQ(verdicts[0].reason, "shape: C = 100 is above 64");
  EXPECT_EQ(verdicts[1].gate, Gate::kSelected);
  EXPECT_EQ(verdicts[2].gate, Gate::kRank);
  EXPECT_EQ(verdicts[2].reason, "accepts too, but cpu.plain.scale comes first");
  EXPECT_EQ(verdicts[2].rank, 3);
}

}  // namespace
}  // namespace kw
