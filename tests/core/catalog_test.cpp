// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/catalog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/support/toy_catalog.hpp"
#include "kernelwright/base/log.hpp"

namespace kw {
namespace {

using toy::entry;
using toy::error_of;
using toy::has;
using Names = std::vector<std::string>;

class CatalogTest : public testing::Test {
 protected:
  CatalogTest() { toy::fill(catalog); }

  std::vector<std::string> names(std::string_view operation) const {
    std::vector<std::string> names;
    for (const Implementation& each : catalog.operation(operation).implementations) {
      names.push_back(each.info.name);
    }
    return names;
  }

  // Registers an entry for "fold" after `change` made something wrong with it.
  template <typename Change>
  std::string error_with(Change change) {
    Implementation bad = entry(DeviceKind::kCpu, "fancy", "fold");
    change(bad);
    return error_of([&] { catalog.register_implementation("fold", bad); });
  }

  Catalog catalog;
};

TEST_F(CatalogTest, PositionInTheListIsKept) {
  EXPECT_EQ(names("stretch"),
            (Names{"cpu.native.stretch", "cuda.jit.stretch", "cpu.reference.stretch"}));
  EXPECT_EQ(catalog.operation_names(), (Names{"stretch", "fold"}));
}

TEST_F(CatalogTest, FindsWhatIsThereAndNothingElse) {
  EXPECT_EQ(catalog.find_contract("fold"), &toy::fold());
  EXPECT_EQ(catalog.find_contract("fol"), nullptr);
  const auto [operation, implementation] = catalog.find_implementation("cuda.jit.stretch");
  ASSERT_NE(implementation, nullptr);
  EXPECT_EQ(operation->contract, &toy::stretch());
  EXPECT_EQ(implementation->info.device, DeviceKind::kCuda);
  EXPECT_EQ(catalog.find_implementation("jit").second, nullptr);
  EXPECT_TRUE(has(error_of([&] { catalog.operation("strech"); }),
                  "unknown operation 'strech'; did you mean 'stretch'? known: stretch, fold"));
}

TEST_F(CatalogTest, ThirdPartiesFollowByPriorityThenName) {
  const auto add = [&](const char* solution, int priority) {
    Implementation third = entry(DeviceKind::kCpu, solution, "fold");
    third.info.priority = priority;
    catalog.register_implementation("fold", third);
  };
  add("zeta", 0);
  add("alpha", -1);
  add("beta", 7);
  add("delta", 0);
  EXPECT_EQ(names("fold"), (Names{"cpu.native.fold", "cpu.beta.fold", "cpu.delta.fold",
                                  "cpu.zeta.fold", "cpu.alpha.fold"}));
}

TEST_F(CatalogTest, HighPriorityDoesNotOvertakeTheTree) {
  Implementation third = entry(DeviceKind::kCpu, "eager_beaver", "fold");
  third.info.priority = 1000;
  catalog.register_implementation("fold", third);
  EXPECT_EQ(names("fold").front(), "cpu.native.fold");
}

TEST_F(CatalogTest, DuplicateNamesBothOrigins) {
  Implementation again = entry(DeviceKind::kCpu, "native", "fold");
  again.info.origin = "plugin acme";
  const std::string error = error_of([&] { catalog.register_implementation("fold", again); });
  EXPECT_TRUE(has(error, "'cpu.native.fold' is registered already by 'kernelwright'"));
  EXPECT_TRUE(has(error, "'plugin acme' needs another solution name, or force"));
  EXPECT_EQ(catalog.operation("fold").implementations[0].info.origin, "kernelwright");
}

TEST_F(CatalogTest, ForceKeepsTheRankAndLogsBothOrigins) {
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view category, std::string_view text) {
    lines.push_back(std::string(category) + ": " + std::string(text));
  });
  Implementation again = entry(DeviceKind::kCpu, "native", "stretch");
  again.info.origin = "plugin acme";
  again.info.priority = -5;
  catalog.register_implementation("stretch", again, true);
  set_log_sink(nullptr);
  EXPECT_EQ(names("stretch").front(), "cpu.native.stretch");
  EXPECT_EQ(catalog.operation("stretch").implementations.front().info.origin, "plugin acme");
  EXPECT_EQ(lines, (Names{"catalog: implementation 'cpu.native.stretch' of 'kernelwright' is "
                          "replaced by that of 'plugin acme' (force)"}));
}

TEST_F(CatalogTest, ForcedThirdPartyMovesToItsNewPriority) {
  for (const char* solution : {"a", "b"}) {
    catalog.register_implementation("fold", entry(DeviceKind::kCpu, solution, "fold"));
  }
  Implementation again = entry(DeviceKind::kCpu, "b", "fold");
  again.info.priority = 1;
  catalog.register_implementation("fold", again, true);
  EXPECT_EQ(names("fold"), (Names{"cpu.native.fold", "cpu.b.fold", "cpu.a.fold"}));
}

TEST_F(CatalogTest, FrozenRefusesEveryChangeAndSaysSo) {
  EXPECT_FALSE(catalog.frozen());
  catalog.freeze();
  EXPECT_TRUE(catalog.frozen());
  const char* late = "comes too late: the catalog froze at the first resolve";
  EXPECT_TRUE(has(error_with([](Implementation&) {}), late));
  EXPECT_TRUE(has(error_of([&] {
                    catalog.register_implementation(
                        "fold", entry(DeviceKind::kCpu, "native", "fold"), true);
                  }),
                  late));
  EXPECT_TRUE(has(error_of([&] { catalog.add({&toy::fold(), {}}); }), late));
  EXPECT_TRUE(has(error_of([&] { catalog.exclude({"fold", "cpu.x.fold", "no libx"}); }), late));
  EXPECT_TRUE(has(error_of([&] { catalog.add_known_field({"f", "o", "", ""}); }), late));
  EXPECT_TRUE(has(error_of([&] {
                    catalog.add_known_value({"f", "v", "r", {}, {}, false});
                  }),
                  late));
  EXPECT_EQ(names("fold"), (Names{"cpu.native.fold"}));
}

TEST_F(CatalogTest, OperationsAreAddedOnceWithAContract) {
  EXPECT_TRUE(has(error_of([&] {
                    catalog.add({&toy::fold(), {}});
                  }),
                  "conflict: operation 'fold' is in the catalog already"));
  EXPECT_TRUE(has(error_of([&] { catalog.add({}); }), "an operation without a contract"));
  Catalog other;
  EXPECT_TRUE(has(error_of([&] {
                    other.add({&toy::fold(),
                               {entry(DeviceKind::kCpu, "native", "fold"),
                                entry(DeviceKind::kCpu, "native", "fold")}});
                  }),
                  "lists implementation 'cpu.native.fold' twice"));
  EXPECT_TRUE(other.operations().empty());
}

TEST_F(CatalogTest, UnknownOperationNamesTheNearest) {
  EXPECT_TRUE(has(error_of([&] {
                    catalog.register_implementation("flod", entry(DeviceKind::kCpu, "x", "flod"));
                  }),
                  "unknown operation 'flod'; did you mean 'fold'?"));
}

TEST_F(CatalogTest, NamesHaveOneShape) {
  const auto named = [&](const char* name) {
    return error_with([&](Implementation& bad) { bad.info.name = name; });
  };
  const char* shape = "a name is <device>.<solution>.<operation>, such as cpu.native.fold";
  for (const char* name :
       {"", "fancy", "cpu.fold", "cpu.fancy.stretch", "cpu..fold", "cpu.Fancy.fold",
        "cpu.fancy.fold.2", "cpu.1st.fold", "cpu.fan-cy.fold"}) {
    EXPECT_TRUE(has(named(name), shape)) << name;
  }
  EXPECT_TRUE(has(named("tpu.fancy.fold"), "tpu"));
  EXPECT_TRUE(has(named("cuda.fancy.fold"), "its device is cpu, its name says otherwise"));
  EXPECT_TRUE(has(named("cpu.plain.fold"), "its solution is 'fancy', its name says 'plain'"));
  EXPECT_TRUE(has(named("cpu.auto.fold"), "'auto' and 'eager' are not solutions"));
  EXPECT_TRUE(has(named("cpu.eager.fold"), "'auto' and 'eager' are not solutions"));
}

TEST_F(CatalogTest, EntriesMustBeConsistent) {
  const auto error = [&](auto change) { return error_with(change); };
  EXPECT_TRUE(has(error([](Implementation& bad) { bad.info.description = " "; }), "one line"));
  EXPECT_TRUE(has(error([](Implementation& bad) { bad.info.description = "a\nb"; }), "one line"));
  EXPECT_TRUE(has(error([](Implementation& bad) { bad.info.variants = {"plane"}; }),
                  "unknown variant 'plane'; did you mean 'plain'?"));
  EXPECT_TRUE(has(error([](Implementation& bad) {
                    bad.info.min_capability = 90;
                    bad.info.max_capability = 80;
                  }),
                  "capability range 90..80 is empty"));
  EXPECT_TRUE(
      has(error([](Implementation& bad) { bad.info.eager_mode = bad.info.graph_mode = false; }),
          "it runs in no mode"));
  EXPECT_TRUE(has(error([](Implementation& bad) { bad.functions.describe = nullptr; }),
                  "all seven functions must be given"));
  EXPECT_EQ(names("fold"), (Names{"cpu.native.fold"}));
}

TEST_F(CatalogTest, ExclusionsStandForImplementationsThatAreNotThere) {
  catalog.exclude({"fold", "cpu.vendor.fold", "libvendor.so is missing"});
  catalog.exclude({"fold", "cpu.vendor.fold", "libvendor.so is 1.0, 2.0 is needed"});
  ASSERT_EQ(catalog.exclusions().size(), 1U);
  EXPECT_TRUE(has(catalog.exclusions()[0].reason, "2.0 is needed"));
  EXPECT_TRUE(has(error_of([&] {
                    catalog.exclude({"fold", "cpu.native.fold", "?"});
                  }),
                  "is registered and cannot be excluded"));
  EXPECT_TRUE(has(error_of([&] {
                    catalog.exclude({"fold", "cpu.x.fold", " "});
                  }),
                  "gives no reason"));
  EXPECT_TRUE(has(error_of([&] { catalog.exclude({"fold", "vendor", "missing"}); }), "a name is"));
  EXPECT_TRUE(has(error_of([&] {
                    catalog.exclude({"bend", "cpu.x.bend", "missing"});
                  }),
                  "unknown operation 'bend'"));
  catalog.register_implementation("fold", entry(DeviceKind::kCpu, "vendor", "fold"));
  EXPECT_TRUE(catalog.exclusions().empty());
}

TEST_F(CatalogTest, KnownFieldsAndValuesAreUnique) {
  EXPECT_TRUE(has(error_of([&] {
                    catalog.add_known_field({"twist_implementation", "t", "", ""});
                  }),
                  "field 'twist_implementation' is known already, for 'twist'"));
  EXPECT_TRUE(
      has(error_of([&] {
            catalog.add_known_value({"elastic_implementation", "fused_coil", "", {}, {}, false});
          }),
          "value 'fused_coil' of field 'elastic_implementation' is known already"));
}

TEST_F(CatalogTest, RegistrationFromManyThreadsIsOrderedAndComplete) {
  constexpr int kThreads = 4, kEach = 16;
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        Implementation third =
            entry(DeviceKind::kCpu, "s" + std::to_string(t) + "_" + std::to_string(i), "fold");
        third.info.priority = i;
        catalog.register_implementation("fold", third);
        // One name that every thread wants: exactly one gets it.
        try {
          catalog.register_implementation(
              "stretch", entry(DeviceKind::kCpu, "only" + std::to_string(i), "stretch"));
        } catch (const Error&) {
          ++refused;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto& entries = catalog.operation("fold").implementations;
  ASSERT_EQ(entries.size(), 1U + kThreads * kEach);
  for (std::size_t i = 2; i < entries.size(); ++i) {
    EXPECT_GE(entries[i - 1].info.priority, entries[i].info.priority);
  }
  EXPECT_EQ(refused, (kThreads - 1) * kEach);
  EXPECT_EQ(catalog.operation("stretch").implementations.size(), 3U + kEach);
}

}  // namespace
}  // namespace kw
