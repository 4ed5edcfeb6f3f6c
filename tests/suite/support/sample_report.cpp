// SPDX-License-Identifier: Apache-2.0
#include "suite/support/sample_report.hpp"

#include <limits>

namespace kw::test {

using namespace suite;

ReportHeader sample_header(std::string kind) {
  ReportHeader header;
  header.kind = std::move(kind);
  header.started = header.ended = "2026-11-30T12:00:00Z";
  header.seconds = 1.5;
  header.argv = {"kw", header.kind};
  header.request = "batch smoke of affine";
  header.revision = "abc";
  header.environment = {{"device", "test host"}};
  return header;
}

NumericsReport sample_report() {
  NumericsReport report;
  report.header = sample_header("numerics");
  CaseResult passed;
  passed.id = "0123456789abcdef";
  passed.operation = "affine";
  passed.implementation = "cpu.toy.affine";
  passed.variant = "one";
  passed.problem = "affine/one x=bf16[1,2] gain=bf16[2]";
  passed.repro = "kw numerics --implementation cpu.toy.affine --problem '" + passed.problem + "'";
  passed.canonical = passed.repro + " --fill normal --seed 1";
  OutputMetrics metrics;
  metrics.output = "y";
  metrics.elements = 2;
  metrics.ulp_histogram[0] = 2;
  metrics.tensor_nrmse = 1.6e-3;
  metrics.tensor_limit = 1.8e-3;
  metrics.max_rel = std::numeric_limits<double>::infinity();
  passed.outputs.push_back(metrics);
  CaseResult failed = passed;
  failed.status = CaseStatus::kFailed;
  failed.reason = Reason::kOobWrite;
  failed.message = "canary:y: written outside | the tensor";
  failed.checks.push_back({"canary:y", false, Reason::kOobWrite, "written outside", {}});
  report.cases = {passed, failed};
  Coverage coverage;
  coverage.operation = "affine";
  coverage.implementation = "cpu.toy.affine";
  coverage.cases = coverage.judged = 2;
  for (const char* axis : {"variant", "dtype", "fill", "layout", "size"})
    coverage.axes.push_back({axis, {{"only", 2}}});
  report.coverage = {coverage};
  return report;
}

BenchReport sample_bench_report() {
  BenchReport report;
  report.header = sample_header("bench");
  report.roof = {20, "memcpy", 1e8, 2};
  BenchRow row;
  row.numerics = sample_report().cases[0];
  row.numerics.problem = "affine/one x=f32[4,8]";
  row.bytes = 100;
  row.flops = 50;
  row.gigabytes_per_second = 18;
  row.roof_share = 0.9;
  Timing timing;
  timing.protocol = "wall_cold";
  timing.samples = {1000, 1000, 1000};
  timing.nanoseconds = summarize(timing.samples);
  row.timings.push_back(timing);
  report.rows.push_back(row);
  return report;
}

}  // namespace kw::test
