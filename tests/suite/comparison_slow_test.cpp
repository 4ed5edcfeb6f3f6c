// SPDX-License-Identifier: Apache-2.0
// kw compare on a device with simulated time, where every figure is exact, and over two reports.
#include "kernelwright/suite/comparison.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kernelwright/suite/run.hpp"
#include "kernelwright/suite/selftest/probe.hpp"
#include "suite/support/fake_gpu.hpp"
#include "support/expect_error.hpp"

namespace kw::suite {
namespace {

using Json = nlohmann::json;

constexpr const char* kProblem = "affine/one x=f32[16,64] gain=f32[64]";

test::FakeDeviceOptions small_cache(double gigabytes_per_second) {
  test::FakeDeviceOptions options;
  options.cache_bytes = 1 << 12;
  options.memory_bytes = std::int64_t{1} << 27;
  options.gigabytes_per_second = gigabytes_per_second;
  return options;
}

// cuda.toy.affine and cuda.other.affine, which differ in time only.
struct World : test::GpuWorld {
  double toy_ns = 10000, other_ns = 10000;

  explicit World(double gigabytes_per_second = 1000) : GpuWorld(small_cache(gigabytes_per_second)) {
    catalog.register_implementation(
        "affine", test::gpu_affine(device, test::GraphSabotage::kNone, [this] { return toy_ns; }));
    Implementation other =
        test::gpu_affine(device, test::GraphSabotage::kNone, [this] { return other_ns; });
    other.info.name = "cuda.other.affine";
    other.info.solution = "other";
    catalog.register_implementation("affine", other);
  }

  CompareReport compare(const char* a, const char* b) {
    CompareRequest request;
    request.a = a;
    request.b = b;
    request.problems = {kProblem};
    request.rule.pairs = kMinPairs;
    request.rule.resamples = 200;
    return run_compare(request, platform());
  }
  ComparisonRow row(double a_ns, double b_ns) {
    toy_ns = a_ns;
    other_ns = b_ns;
    return compare("cuda.toy.affine", "cuda.other.affine").rows.at(0);
  }
};

TEST(Compare, IsExactWhereTimeIs) {
  World world;
  const ComparisonRow same = world.row(10000, 10000);
  EXPECT_EQ(same.result.verdict, Verdict::kSame);
  EXPECT_EQ(same.result.ratio, 1);
  EXPECT_EQ(same.protocol, "graph_cold");
  EXPECT_GE(same.block_samples, kMinBlock);
  EXPECT_EQ(same.pairs.ratios.size(), static_cast<std::size_t>(kMinPairs));
  EXPECT_TRUE(same.flags.empty()) << same.flags[0];
  const ComparisonRow slower = world.row(10000, 10300);
  EXPECT_EQ(slower.result.verdict, Verdict::kSlower);
  EXPECT_NEAR(slower.result.ratio, 1 / 1.03, 1e-12);
  EXPECT_EQ(world.row(10300, 10000).result.verdict, Verdict::kFaster);
  EXPECT_EQ(world.row(10000, 10050).result.verdict, Verdict::kSame);
}

TEST(Compare, ExitCodesFollowTheWorst) {
  World world;
  world.other_ns = 9000;
  EXPECT_EQ(world.compare("cuda.toy.affine", "cuda.other.affine").exit_code(), 0);
  world.other_ns = 11000;
  const CompareReport slower = world.compare("cuda.toy.affine", "cuda.other.affine");
  EXPECT_EQ(slower.exit_code(), 1);
  const Json json = Json::parse(to_json(slower));
  EXPECT_EQ(json["kind"], "compare");
  EXPECT_EQ(json["summary"]["verdicts"]["SLOWER"], 1);
  EXPECT_EQ(json["summary"]["by_reason"]["regression"], 1);
  EXPECT_EQ(json["comparisons"][0]["verdict"], "SLOWER");
  EXPECT_EQ(json["comparisons"][0]["reason"]["code"], "regression");
  EXPECT_EQ(json["comparisons"][0]["reason"]["message"], "B takes 1.100 times as long as A");
  EXPECT_EQ(json["comparisons"][0]["control"]["ratio"], 1);
  EXPECT_NE(to_markdown(slower).find("| SLOWER | 0.909 |"), std::string::npos)
      << to_markdown(slower);
}

// 4096 bytes of x, as many of y and 256 of gain, on a device that copies a byte in a nanosecond.
TEST(Compare, ACopyOfAsManyBytesIsABaseline) {
  World world(1);
  const CompareReport report = world.compare("copy", "toy");
  ASSERT_EQ(report.rows.size(), 1U);
  const ComparisonRow& row = report.rows[0];
  ASSERT_TRUE(row.compared()) << row.message;
  EXPECT_EQ(row.a, "copy");
  EXPECT_EQ(row.b, "cuda.toy.affine");
  EXPECT_NEAR(row.result.ratio, 0.8448, 1e-9);
  EXPECT_EQ(row.result.verdict, Verdict::kSlower);
  EXPECT_EQ(report.exit_code(), 0) << "slower than the roof is no failure";
  EXPECT_TRUE(report.counts().by_reason.empty()) << "nor a regression";
  EXPECT_EQ(Json::parse(to_json(report))["comparisons"][0].count("reason"), 0U);
  test::expect_error(Code::kInvalidArgument, {"'copy'", "write it first", "kw compare copy toy"},
                     [&] { world.compare("toy", "copy"); });
}

// An empty kernel takes 1 us here; bytes of the problem over 0.1 ns are beyond every roof.
TEST(Compare, WhatIsBelowTheFloorOrBeyondTheRoofHasNoVerdict) {
  World world;
  const ComparisonRow below = world.row(2900, 2000);
  EXPECT_EQ(below.result.verdict, Verdict::kAmbiguous);
  EXPECT_EQ(below.flags, std::vector<std::string>{"below_floor"});
  const ComparisonRow beyond = world.row(3100, 0.1);
  EXPECT_EQ(beyond.result.verdict, Verdict::kAmbiguous);
  EXPECT_EQ(beyond.flags, (std::vector<std::string>{"below_floor", "implausible_speed"}));
}

// What one side asked the cache to keep would cost the other.
TEST(Compare, EveryBlockBeginsWithoutPersistingLines) {
  World world;
  const ComparisonRow row = world.row(1000, 1000);
  EXPECT_GE(world.device.calls().persisting_resets, 2 * static_cast<int>(row.pairs.a.size()));
}

TEST(Compare, BothSidesPassNumericsFirst) {
  World world;
  Implementation wrong = test::gpu_affine(world.device, test::GraphSabotage::kWrongFarSlice);
  wrong.info.name = "cuda.wrong.affine";
  wrong.info.solution = "wrong";
  world.catalog.register_implementation("affine", wrong);
  CompareRequest request;
  request.a = "cuda.toy.affine";
  request.b = "cuda.wrong.affine";
  request.problems = {"affine/one x=f32[300,64] gain=f32[64]"};
  const CompareReport report =
      run_compare(request, {world.catalog, world.device, {}, {}, world.kernels});
  ASSERT_EQ(report.rows.size(), 1U);
  EXPECT_FALSE(report.rows[0].compared());
  EXPECT_EQ(report.rows[0].reason, Reason::kNumericMismatch);
  EXPECT_NE(report.rows[0].message.find("cuda.wrong.affine"), std::string::npos);
  EXPECT_EQ(report.exit_code(), 1);
}

std::string bench_json(double ns, const char* model = "H200", const char* problem = kProblem,
                       const char* flag = nullptr) {
  Json samples = Json::array();
  for (int i = 0; i < 40; ++i) samples.push_back(ns * (1 + 0.0005 * (i % 5)));
  Json flags = Json::array();
  if (flag != nullptr) flags.push_back(flag);
  return Json{{"schema", "kw.report/1"},
              {"kind", "bench"},
              {"environment", {{"model", model}, {"driver", "580"}}},
              {"cases",
               {{{"operation", "affine"},
                 {"problem", problem},
                 {"fill", "normal"},
                 {"implementation", "cuda.toy.affine"},
                 {"status", "passed"},
                 {"benchmark",
                  {{{"protocol", "graph_hot"}, {"raw", {1.0}}, {"flags", Json::array()}},
                   {{"protocol", "graph_cold"}, {"raw", samples}, {"flags", flags}}}}}}}}
      .dump();
}

Verdict verdict_between(const std::string& a, const std::string& b) {
  return compare_reports(a, b, "a.json", "b.json").rows.at(0).result.verdict;
}

TEST(CompareReports, JudgeByTheColdSamplesOfBoth) {
  EXPECT_EQ(verdict_between(bench_json(1000), bench_json(1000)), Verdict::kSame);
  EXPECT_EQ(verdict_between(bench_json(1000), bench_json(1020)), Verdict::kSame);  // two runs
  EXPECT_EQ(verdict_between(bench_json(1000), bench_json(1050)), Verdict::kSlower);
  EXPECT_EQ(verdict_between(bench_json(1050), bench_json(1000)), Verdict::kFaster);
  EXPECT_EQ(verdict_between(bench_json(1050, "H200", kProblem, "below_floor"), bench_json(1000)),
            Verdict::kAmbiguous);
  EXPECT_EQ(verdict_between(bench_json(1050, "H200", kProblem, "power_limited"), bench_json(1000)),
            Verdict::kAmbiguous);
  const CompareReport report =
      compare_reports(bench_json(1000), bench_json(1050), "a.json", "b.json");
  EXPECT_EQ(report.exit_code(), 1);
  EXPECT_FALSE(Json::parse(to_json(report))["interleaved"].get<bool>());
}

TEST(CompareReports, SayWhatMakesThemIncomparable) {
  const auto refuse = [](std::initializer_list<std::string_view> words, const std::string& a,
                         const std::string& b) {
    test::expect_error(Code::kInvalidArgument, words,
                       [&] { compare_reports(a, b, "a.json", "b.json"); });
  };
  refuse({"incomparable", "model 'H200' and 'H100'"}, bench_json(1), bench_json(1, "H100"));
  refuse({"incomparable", "only in 'a.json'", "only in 'b.json'"}, bench_json(1),
         bench_json(1, "H200", "affine/one x=f32[1]"));
  refuse({"'b.json'", "kind 'numerics'"}, bench_json(1),
         R"({"schema": "kw.report/1", "kind": "numerics"})");
  refuse({"'a.json' is no report"}, "{", bench_json(1));
}

}  // namespace
}  // namespace kw::suite
