// SPDX-License-Identifier: Apache-2.0
// The table of this folder and its search spaces: every entry is legal and found where it was
// measured, and no order of summation follows the number of rows.
#include <gtest/gtest.h>

#include <map>

#include "kernelwright/base/text.hpp"
#include "kernelwright/core/explain.hpp"
#include "kernelwright/jit/unit.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/ops/rms_norm/contract.hpp"
#include "kernelwright/tune/cfg_table.hpp"
#include "kernelwright/tune/tables.hpp"
#include "support/fake_device.hpp"

namespace kw::ops::rms_norm {
namespace {

class Tuning : public ::testing::Test {
 protected:
  Tuning() { add_builtin_operations(catalog_); }

  Problem problem(const std::string& text) { return parse_problem(text, catalog_); }
  Specialization choose(const std::string& text, const Hardware& hardware,
                        const CfgPins& pins = {}) {
    const Problem p = problem(text);
    const Implementation& implementation =
        *catalog_.find_implementation("cuda.jit." + p.operation()).second;
    return implementation.functions.choose(nullptr, p, hardware, pins);
  }

  static Hardware device(int capability, const std::string& model = "") {
    Hardware hardware;
    hardware.kind = DeviceKind::kCuda;
    hardware.capability = capability;
    hardware.model = model;
    return hardware;
  }
  static Hardware device_of(const tune::Entry& entry) {
    const auto number = parse_integer(entry.capability.substr(entry.capability.find('_') + 1));
    EXPECT_TRUE(number) << entry.capability;
    const Hardware hardware = device(static_cast<int>(number.value_or(0)), entry.model);
    EXPECT_EQ(capability_text(hardware.kind, hardware.capability), entry.capability);
    return hardware;
  }
  // Fields of the Cfg that is compiled.
  std::map<std::string, std::string> fields(const std::string& text, const Hardware& hardware) {
    const auto units = cuda_units(problem(text), hardware);
    return {units.at(0).fields.begin(), units.at(0).fields.end()};
  }
  void expect_one_tree(const std::string& columns, const std::string& dtype,
                       const Hardware& hardware) {
    std::map<std::string, std::string> forward, backward;
    for (const char* rows : {"?", "1", "256", "300", "16384", "300000"}) {
      const std::string x = dtype + "[" + rows + "," + columns + "]";
      const std::string weight = " weight=" + dtype + "[" + columns + "]";
      const auto one = fields("rms_norm/standard x=" + x + weight, hardware);
      const auto two = fields("rms_norm_backward/standard dy=" + x + " x=" + x + weight +
                                  " want_dx=true want_dweight=true",
                              hardware);
      if (forward.empty()) forward = one, backward = two;
      for (const char* name : {"threads_per_row", "cluster", "reload"}) {
        EXPECT_EQ(one.at(name), forward.at(name)) << name << " of " << x;
        EXPECT_EQ(two.at(name), backward.at(name)) << name << " of " << x;
      }
    }
  }

  Catalog catalog_;
};

TEST_F(Tuning, TheTreeDoesNotFollowTheRows) {
  for (const char* columns : {"1", "128", "513", "2048", "4096", "7168", "16384", "262144"}) {
    for (const char* dtype : {"bf16", "f32"}) {
      for (const int capability : {80, 90, 120})
        expect_one_tree(columns, dtype, device(capability));
    }
  }
  for (const tune::Entry& entry : tune::table_of("rms_norm").entries) {
    expect_one_tree(entry.when.at("hidden"), entry.when.at("element"), device_of(entry));
  }
}

TEST_F(Tuning, EveryEntryIsFoundWhereItWasMeasured) {
  for (const tune::Entry& entry : tune::table_of("rms_norm").entries) {
    EXPECT_NE(catalog_.find_implementation(entry.implementation).second, nullptr)
        << entry.implementation;
    for (const auto& [bucket, choice] : entry.buckets) {
      EXPECT_FALSE(choice.problems.empty()) << bucket;
      for (const std::string& text : choice.problems) {
        const std::string origin = choose(text, device_of(entry)).origin;
        EXPECT_TRUE(origin.starts_with("table: bucket " + bucket)) << text << ": " << origin;
      }
    }
  }
}

// As choose() applies it, on a table that is not empty.
TEST_F(Tuning, ACfgTakesItsGeometryFromATable) {
  tune::Entry entry;
  entry.implementation = "cuda.jit.rms_norm";
  entry.capability = "sm_90";
  entry.when = {{"element", "bf16"}, {"hidden", "7168"}};
  entry.tree = {{"threads_per_row", "448"}};
  entry.buckets["many"].cfg = {{"unroll", "2"}, {"store", "evict_first"}};
  const std::vector<std::string> buckets(std::begin(kRowBucketNames), std::end(kRowBucketNames));
  const tune::CfgTable<CudaForwardCfg> table({{entry}}, "cuda.jit.rms_norm", buckets, "t.json");
  const auto legal = [](const CudaForwardCfg& cfg) { return objection(cfg) == nullptr; };
  CudaForwardCfg cfg{.hidden = 7168};
  EXPECT_TRUE(table.apply(cfg, device(90), row_bucket(20000), legal).starts_with("table"));
  EXPECT_EQ(cfg.threads_per_row, 448);
  EXPECT_EQ(cfg.unroll, 2);
  CudaForwardCfg narrow{.hidden = 7168};
  entry.tree["threads_per_row"] = "32";
  const tune::CfgTable<CudaForwardCfg> illegal({{entry}}, "cuda.jit.rms_norm", buckets, "t.json");
  EXPECT_EQ(illegal.apply(narrow, device(90), 2, legal), tune::kFormulaOrigin);
}

TEST_F(Tuning, TheOriginOfAGeometryIsSaid) {
  const std::string text = "rms_norm/standard x=bf16[4,7168] weight=bf16[7168]";
  EXPECT_EQ(choose(text, device(80)).origin, "formula: no table entry fits");
  EXPECT_EQ(choose(text, device(80), {{"unroll", "2"}}).origin,
            "pins over formula: no table entry fits");
  test::FakeDevice ampere({.capability = 80});
  const Context context(catalog_, Settings{}, ampere);
  EXPECT_EQ(explain(context, problem(text)).geometry, "formula: no table entry fits");
}

TEST_F(Tuning, AFreeNumberOfRowsIsTheLastBucket) {
  EXPECT_EQ(row_bucket(256), 0);
  EXPECT_EQ(row_bucket(257), 1);
  EXPECT_EQ(row_bucket(16384), 2);
  const std::string rest = ",128] weight=bf16[128]";
  EXPECT_EQ(choose("rms_norm/standard x=bf16[?" + rest, device(80)).text,
            choose("rms_norm/standard x=bf16[100000" + rest, device(80)).text);
  for (const tune::SearchSpec& spec : searches()) {
    if (spec.implementation != "cuda.jit.rms_norm") continue;
    EXPECT_EQ(spec.describe(problem("rms_norm/standard x=bf16[?" + rest), device(90), {}).bucket,
              "many");
  }
}

TEST_F(Tuning, SearchSpacesNameFactsAndGeometryAndHoldTheFormula) {
  for (const tune::SearchSpec& spec : searches()) {
    const bool forward = spec.implementation == "cuda.jit.rms_norm";
    for (const char* columns : {"128", "4096", "7168"}) {
      const std::string x = std::string("bf16[16384,") + columns + "]";
      const Problem p =
          problem((forward ? "rms_norm/standard x=" + x
                           : "rms_norm_backward/standard want_dx=true want_dweight=true dy=" + x +
                                 " x=" + x) +
                  " weight=bf16[" + columns + "]");
      const tune::Geometry formula = spec.describe(p, device(90), {});
      for (const std::string& key : spec.keys) EXPECT_EQ(formula.parts.facts.count(key), 1U) << key;
      CfgPins base;
      for (const auto& stage : spec.stages) {
        const auto legal = tune::expand(spec, p, device(90), base, stage, {});
        EXPECT_GE(legal.size(), 2U) << spec.implementation << " of " << columns;
        base = tune::pins_of(formula);
      }
      EXPECT_EQ(spec.describe(p, device(90), base).text, formula.text);
    }
  }
}

}  // namespace
}  // namespace kw::ops::rms_norm
