// SPDX-License-Identifier: Apache-2.0
// Requests to reports: batches, filters, fuzz, overrides, exit codes, and what bench times.
#include "kernelwright/suite/run.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "kernelwright/base/error.hpp"
#include "kernelwright/jit/errors.hpp"
#include "kernelwright/suite/fuzz.hpp"
#include "kernelwright/suite/selftest/probe.hpp"
#include "suite/support/probe_world.hpp"

namespace kw::suite {
namespace {

using test::ProbeWorld;
using test::toy_request;

const std::vector<SuiteSpec>& suites() {
  static const std::vector<SuiteSpec> all{
      {"affine",
       {{"smoke",
         {"affine/{one,two} x={bf16,f32}[{1,9},{8,33}] gain={bf16}[{8,33}]"}},  // mostly illegal
                                                                                // products are an
                                                                                // error
        {"ci", {"affine/one x=f16[64,128] gain=f16[128]"}},
        {"bench", {"affine/one x=f32[64,128] gain=f32[128]"}}}}};
  return all;
}

template <typename Call>
std::string error_of(Call call, Code code) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(code_name(error.code()), code_name(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(Numerics, ABatchRunsNormalEverywhereAndTheCatalogueOncePerTypes) {
  ProbeWorld world;
  NumericsRequest request = toy_request();
  int seen = 0;
  request.progress = [&](const CaseResult&) { ++seen; };
  const NumericsReport report = run_numerics(request, world.platform);
  EXPECT_EQ(report.exit_code(), 0);
  // Variants one and two in bf16 and one in f32 get twelve fills; two further problems get one.
  EXPECT_EQ(report.counts().passed, 3 * 12 + 2);
  EXPECT_EQ(seen, report.counts().total());
  EXPECT_EQ(report.header.kind, "numerics");
}

// The checks of a case also prepare prefixes of it, and those of the case before are the last that
// were prepared when one is declined.
TEST(Numerics, ACaseNamesTheCfgOfItsOwnProblem) {
  ProbeWorld world;
  Implementation by_rows = probe_affine(Sabotage::kNone);
  by_rows.info.name = "cpu.by_rows.affine";
  by_rows.info.solution = "by_rows";
  by_rows.functions.choose = [](void*, const Problem& problem, const Hardware&, const CfgPins&) {
    return Specialization{fmt::format("{} rows", problem.rows()),
                          std::make_shared<const int>(problem.variant)};
  };
  world.catalog.register_implementation("affine", by_rows);
  NumericsRequest request;
  request.implementation = "cpu.by_rows.affine";
  request.fills = {"normal"};
  request.problems = {"affine/one x=f32[9,8] gain=f32[8]", "affine/one x=f64[4,8] gain=f64[8]",
                      "affine/one x=f32[5,8] gain=f32[8]"};
  const NumericsReport report = run_numerics(request, world.platform);
  ASSERT_EQ(report.cases.size(), 3U);
  EXPECT_EQ(report.cases[0].specialization, "9 rows");
  EXPECT_FALSE(report.cases[0].code.empty());
  EXPECT_EQ(report.cases[1].status, CaseStatus::kNotApplicable);
  EXPECT_EQ(report.cases[1].specialization, "");
  EXPECT_EQ(report.cases[1].code, "");
  EXPECT_EQ(report.cases[2].specialization, "5 rows");
  for (const int with_class_checks : {0, 2}) {  // of a class each
    const auto& checks = report.cases[with_class_checks].checks;
    EXPECT_TRUE(std::any_of(checks.begin(), checks.end(), [](const CheckResult& check) {
      return check.name == "decisions";
    })) << with_class_checks;
  }
}

TEST(Numerics, BatchesIncludeTheSmallerOnes) {
  EXPECT_EQ(batch_lines(test::probe_suites()[0], "smoke").size(), 2U);
  EXPECT_EQ(batch_lines(test::probe_suites()[0], "ci").size(), 3U);
  EXPECT_EQ(batch_lines(test::probe_suites()[0], "full").size(), 3U);
  EXPECT_EQ(batch_lines(test::probe_suites()[0], "bench").size(), 1U);
  const std::string message =
      error_of([] { batch_lines(test::probe_suites()[0], "smoek"); }, Code::kNotFound);
  EXPECT_NE(message.find("did you mean 'smoke'"), std::string::npos) << message;
  error_of([] { batch_lines(test::probe_suites()[0], "./no_such_file"); }, Code::kNotFound);
}

TEST(Numerics, FiltersByVariantDtypeFillAndShard) {
  ProbeWorld world;
  NumericsRequest request = toy_request();
  request.fills = {"normal", "big"};
  EXPECT_EQ(run_numerics(request, world.platform).counts().passed, 10);
  request.variants = {"two"};
  EXPECT_EQ(run_numerics(request, world.platform).counts().passed, 4);
  request.variants.clear();
  request.dtype = "f32";
  EXPECT_EQ(run_numerics(request, world.platform).counts().passed, 2);
  request.dtype.clear();
  int total = 0;
  request.shards = 3;
  for (request.shard = 0; request.shard < 3; ++request.shard)
    total += run_numerics(request, world.platform).counts().total();
  EXPECT_EQ(total, 10);
}

TEST(Numerics, FailuresAndEmptyRunsHaveExitCodes) {
  ProbeWorld broken(Sabotage::kZeros);
  const NumericsReport report = run_numerics(toy_request(), broken.platform);
  EXPECT_EQ(report.exit_code(), 1);
  EXPECT_GT(report.counts().failed, 0);

  ProbeWorld world;
  NumericsRequest request = toy_request();
  request.problems = {"affine/one x=f64[4,8] gain=f64[8]"};
  EXPECT_EQ(run_numerics(request, world.platform).exit_code(), 3);  // all not applicable
  request.problems.clear();
  request.dtype = "u8";
  EXPECT_EQ(run_numerics(request, world.platform).exit_code(), 3);  // no case
}

TEST(Numerics, AnInterruptedRunReportsWhatItDid) {
  ProbeWorld world;
  NumericsRequest request = toy_request();
  for (const int fuzz : {0, 100}) {
    request.interrupted = [n = 0]() mutable { return ++n > 5; };
    request.fuzz = fuzz;
    const NumericsReport report = run_numerics(request, world.platform);
    EXPECT_FALSE(report.header.complete);
    EXPECT_EQ(report.counts().total(), 5);
    EXPECT_EQ(report.counts().passed, 5);
    EXPECT_EQ(report.exit_code(), kInterruptedExit);
    EXPECT_NE(to_markdown(report).find("Interrupted"), std::string::npos);
  }
  BenchRequest bench;
  bench.implementation = "cpu.toy.affine";
  bench.iterations = 3;
  bench.problems = {"affine/one x=f32[{4,5,6},8] gain=f32[8]"};
  bench.interrupted = [n = 0]() mutable { return ++n > 2; };
  const BenchReport timed = run_bench(bench, world.platform);
  EXPECT_FALSE(timed.header.complete);
  EXPECT_EQ(timed.rows.size(), 2U);
  EXPECT_EQ(timed.exit_code(), kInterruptedExit);
  EXPECT_TRUE(run_numerics(toy_request(), world.platform).header.complete);
}

// Who refused: the compiler, the device that was to load its binary, or the implementation.
TEST(Numerics, WhatCannotBePreparedSaysWhoRefused) {
  const auto reason_of = [](void* (*prepare)(void*, PrepareRequest&)) {
    ProbeWorld world;
    Implementation broken = probe_affine(Sabotage::kNone);
    broken.info.name = "cpu.broken.affine";
    broken.info.solution = "broken";
    broken.functions.prepare = prepare;
    world.catalog.register_implementation("affine", broken);
    NumericsRequest request;
    request.implementation = "cpu.broken.affine";
    request.problems = {"affine/one x=f32[4,8] gain=f32[8]"};
    const NumericsReport report = run_numerics(request, world.platform);
    EXPECT_EQ(report.exit_code(), 1);
    EXPECT_NE(report.cases.at(0).message.find("no good"), std::string::npos);
    return reason_name(report.cases.at(0).reason);
  };
  EXPECT_EQ(reason_of([](void*, PrepareRequest&) -> void* {
              throw jit::LoadError(Code::kEnvironment, "no good");
            }),
            "load_error");
  EXPECT_EQ(reason_of([](void*, PrepareRequest&) -> void* {
              throw jit::CompileError(Code::kInternal, "no good");
            }),
            "compile_error");
  EXPECT_EQ(reason_of([](void*, PrepareRequest&) -> void* {
              throw Error(Code::kEnvironment, "no good");
            }),
            "compile_error");
  EXPECT_EQ(reason_of([](void*, PrepareRequest&) -> void* {
              throw Error(Code::kUnsupported, "no good");
            }),
            "rejected_valid");
  EXPECT_EQ(
      reason_of([](void*, PrepareRequest&) -> void* { throw Error(Code::kInternal, "no good"); }),
      "device_error");
}

TEST(Numerics, NamesWithoutAMatchAreErrors) {
  ProbeWorld world;
  NumericsRequest request;
  request.implementation = "cpu.toi.affine";
  EXPECT_NE(error_of([&] { run_numerics(request, world.platform); }, Code::kNotFound)
                .find("did you mean 'cpu.toy.affine'"),
            std::string::npos);
  request.implementation = "cpu.toy.affine";
  request.operation = "affine_backward";
  EXPECT_NE(error_of([&] { run_numerics(request, world.platform); }, Code::kInvalidArgument)
                .find("belongs to operation 'affine'"),
            std::string::npos);
  request.operation = "afine";
  request.implementation.clear();
  error_of([&] { run_numerics(request, world.platform); }, Code::kNotFound);
  request = toy_request();
  request.variants = {"three"};
  error_of([&] { run_numerics(request, world.platform); }, Code::kNotFound);
  request = toy_request();
  request.dtype = "bf17";
  error_of([&] { run_numerics(request, world.platform); }, Code::kNotFound);
  request = toy_request();
  request.fills = {"random"};
  error_of([&] { run_numerics(request, world.platform); }, Code::kNotFound);
  request = toy_request();
  request.problems = {"affine/one x=bf16[?,8] gain=bf16[8]"};
  error_of([&] { run_numerics(request, world.platform); }, Code::kInvalidArgument);
  const Platform illegal{world.catalog, world.device, suites(), {}};
  error_of([&] { run_numerics(toy_request(), illegal); }, Code::kInvalidArgument);
}

TEST(Numerics, ASolutionNamesEveryOperationThatHasIt) {
  ProbeWorld world;
  NumericsRequest request;
  request.implementation = "toy";
  request.problems = {"affine/one x=f32[4,8] gain=f32[8]",
                      "affine_backward/one dy=f32[4,8] x=f32[4,8] gain=f32[8] total=f32[8]"};
  EXPECT_EQ(run_numerics(request, world.platform).counts().passed, 2);
  request.implementation.clear();  // all but the oracles
  EXPECT_EQ(run_numerics(request, world.platform).counts().passed, 2);
  request.implementation = "reference";
  EXPECT_EQ(run_numerics(request, world.platform).counts().passed, 2);
}

TEST(Numerics, AnOverrideThatWouldRunSomethingElseIsRefused) {
  ProbeWorld world;
  world.platform.overrides["affine"] = "reference";
  const std::string message =
      error_of([&] { run_numerics(toy_request(), world.platform); }, Code::kConflict);
  EXPECT_NE(message.find("overrides 'affine' with 'reference'"), std::string::npos) << message;
  world.platform.overrides["affine"] = "toy";
  EXPECT_EQ(run_numerics(toy_request(), world.platform).exit_code(), 0);
}

TEST(Fuzz, DrawsAreLegalRepeatableAndVaried) {
  ProbeWorld world;
  const ProblemFuzzer fuzzer(AffineArgs::contract(), {});
  int legal = 0, strided = 0, empty = 0, misaligned = 0, optional = 0, two = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const auto spec = fuzz_case(fuzzer, seed);
    if (!spec) continue;
    ++legal;
    EXPECT_EQ(problem_text(spec->problem), problem_text(fuzz_case(fuzzer, seed)->problem));
    // What is printed reads back: the repro line of a failure works.
    EXPECT_EQ(problem_text(parse_problem(problem_text(spec->problem), world.catalog)),
              problem_text(spec->problem));
    const TensorSpec& x = spec->problem.tensor("x");
    strided += x.contiguous ? 0 : 1;
    empty += x.numel() == 0 ? 1 : 0;
    misaligned += x.align < 16 ? 1 : 0;
    optional += spec->problem.has("total") ? 1 : 0;
    two += spec->problem.variant_name() == "two" ? 1 : 0;
  }
  EXPECT_GT(legal, 300);
  for (const int count : {strided, empty, misaligned, optional, two}) EXPECT_GT(count, 3);
}

TEST(Bench, TimesOnlyWhatPassed) {
  ProbeWorld broken(Sabotage::kZeros);
  BenchRequest request;
  request.implementation = "cpu.toy.affine";
  request.iterations = 5;
  const BenchReport bad = run_bench(request, broken.platform);
  ASSERT_EQ(bad.rows.size(), 1U);
  EXPECT_TRUE(bad.rows[0].timings.empty());
  EXPECT_EQ(bad.exit_code(), 1);

  ProbeWorld world;
  const BenchReport good = run_bench(request, world.platform);
  ASSERT_EQ(good.rows.size(), 1U);
  const BenchRow& row = good.rows[0];
  ASSERT_EQ(row.timings.size(), 3U);
  EXPECT_EQ(row.timings[0].protocol, "wall_cold");
  EXPECT_EQ(row.timings[1].protocol, "wall_hot");
  EXPECT_EQ(row.timings[2].protocol, "call");
  EXPECT_GE(row.timings[0].working_set_bytes, 3 * 65536);
  for (const Timing& timing : row.timings) {
    EXPECT_EQ(timing.nanoseconds.count, 5);
    EXPECT_GT(timing.nanoseconds.median, 0);
    EXPECT_EQ(timing.nanoseconds.stop_reason, "samples");
  }
  EXPECT_LT(row.timings[2].nanoseconds.median, row.timings[1].nanoseconds.median);
  EXPECT_DOUBLE_EQ(row.bytes, 4 * (2 * 64 * 128 + 128));
  EXPECT_GT(good.roof.gigabytes_per_second, 0.1);
  EXPECT_DOUBLE_EQ(row.roof_share, row.gigabytes_per_second / good.roof.gigabytes_per_second);
  EXPECT_EQ(good.exit_code(), 0);
  EXPECT_EQ(row.timings[1].floor_ns, row.timings[2].nanoseconds.median);
  EXPECT_EQ(parse_protocol("call"), Protocol::kCall);
  EXPECT_EQ(parse_protocol("graph_cold"), Protocol::kGraph);
  EXPECT_EQ(protocol_name(Protocol::kGraph), "graph_hot");
  error_of([] { parse_protocol("devices"); }, Code::kNotFound);
}

}  // namespace
}  // namespace kw::suite
