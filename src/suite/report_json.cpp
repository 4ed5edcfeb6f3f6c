// SPDX-License-Identifier: Apache-2.0
// Reports as JSON, schema kw.report/1. Fields are written in a fixed order; metadata goes into an
// object of its own, so that it cannot replace what identifies a report or a case.
#include <cmath>

#include <fmt/core.h>

#include "kernelwright/suite/comparison.hpp"
#include "kernelwright/suite/report_document.hpp"

namespace kw::suite {
namespace {

// JSON has no infinities or NaN: they become text.
Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json object_of(const Facts& facts) {
  Json object = Json::object();
  for (const auto& [name, value] : facts) object[name] = value;
  return object;
}

Json numbers_of(const std::vector<std::pair<std::string, double>>& data) {
  Json object = Json::object();
  for (const auto& [name, value] : data) object[name] = number(value);
  return object;
}

Json summary_of(const Counts& counts, int exit_code) {
  Json reasons = Json::object();
  for (const auto& [reason, amount] : counts.by_reason) reasons[reason] = amount;
  return {{"cases", counts.total()},         {"passed", counts.passed},
          {"failed", counts.failed},         {"error", counts.error},
          {"mistrusted", counts.mistrusted}, {"not_applicable", counts.not_applicable},
          {"skipped", counts.skipped},       {"by_reason", std::move(reasons)},
          {"exit_code", exit_code}};
}

Json header_of(const ReportHeader& header) {
  return {{"schema", kReportSchema},
          {"kind", header.kind},
          {"started", header.started},
          {"ended", header.ended},
          {"seconds", header.seconds},
          {"complete", header.complete},
          {"argv", header.argv},
          {"revision", header.revision},
          {"request", header.request},
          {"environment", object_of(header.environment)},
          {"metadata", object_of(header.metadata)}};
}

Json output_of(const OutputMetrics& m) {
  Json worst = Json::array();
  for (const WorstElement& w : m.worst) {
    worst.push_back({{"index", w.index},
                     {"expected", number(w.expected)},
                     {"got", number(w.got)},
                     {"ulps", number(w.ulps)}});
  }
  return {{"output", m.output},
          {"elements", m.elements},
          {"tensor_nrmse", number(m.tensor_nrmse)},
          {"tensor_limit", number(m.tensor_limit)},
          {"unrounded_nrmse", number(m.unrounded_nrmse)},
          {"max_row_nrmse", number(m.max_row_nrmse)},
          {"row_limit", number(m.row_limit)},
          {"worst_row", m.worst_row},
          {"row_margin", number(m.worst_row_ratio > 0 ? 1 / m.worst_row_ratio : INFINITY)},
          {"max_abs", number(m.max_abs)},
          {"max_rel", number(m.max_rel)},
          {"max_ulps", number(m.max_ulps)},
          {"ulp_histogram", m.ulp_histogram},
          {"frac_exact", number(m.exact_share)},
          {"bias_z", number(m.bias_z)},
          {"versus_eager", number(m.versus_eager)},
          {"nonfinite_expected", m.nonfinite_expected},
          {"nonfinite_got", m.nonfinite_got},
          {"trust", number(m.trust)},
          {"worst", std::move(worst)}};
}

Json recording_of(const Recording& recording) {
  if (recording.file.empty()) return {{"omitted", recording.omitted}};
  return {{"file", recording.file}, {"sha256", recording.sha256}, {"bytes", recording.bytes}};
}

Json counts_of(const Axis& axis) {
  Json object = Json::object();
  for (const auto& [value, cases] : axis.values) object[value] = cases;
  return object;
}

Json coverage_of(const Coverage& coverage) {
  Json axes = Json::object();
  for (const Axis& axis : coverage.axes) axes[axis.name] = counts_of(axis);
  return {{"operation", coverage.operation},
          {"implementation", coverage.implementation},
          {"cases", coverage.cases},
          {"judged", coverage.judged},
          {"unclaimed", coverage.unclaimed},
          {"domain_excluded", coverage.domain_excluded},
          {"excluded_share", coverage.excluded_share()},
          {"excluded_limit", coverage.limit},
          {"limit_message", coverage.exceeds_limit() ? coverage.limit_message() : ""},
          {"na_by_reason", counts_of(coverage.not_applicable)},
          {"axes", std::move(axes)}};
}

Json case_of(const CaseResult& result) {
  Json checks = Json::array();
  for (const CheckResult& check : result.checks) {
    Json entry = {{"name", check.name}, {"status", check.passed ? "passed" : "failed"}};
    if (!check.passed)
      entry["reason"] = {{"code", reason_name(check.reason)}, {"message", check.message}};
    else if (!check.message.empty())
      entry["message"] = check.message;
    if (!check.data.empty()) entry["data"] = numbers_of(check.data);
    checks.push_back(std::move(entry));
  }
  Json outputs = Json::array();
  for (const OutputMetrics& metrics : result.outputs) outputs.push_back(output_of(metrics));
  Json entry = {{"id", result.id},           {"operation", result.operation},
                {"variant", result.variant}, {"implementation", result.implementation},
                {"problem", result.problem}, {"cfg", result.specialization},
                {"code", result.code},       {"fill", fill_name(result.fill)},
                {"seed", result.seed},       {"status", status_name(result.status)}};
  if (result.reason != Reason::kNone)
    entry["reason"] = {{"code", reason_name(result.reason)}, {"message", result.message}};
  entry["seconds"] = result.seconds;
  entry["repro"] = result.repro;
  entry["canonical"] = result.canonical;
  if (!result.recording.file.empty() || !result.recording.omitted.empty())
    entry["tensors"] = recording_of(result.recording);
  entry["trust"] = number(result.trust);
  entry["checks"] = std::move(checks);
  entry["numerics"] = std::move(outputs);
  return entry;
}

Json roofs_of(const Roof& roof) {
  return {{"copy",
           {{"gigabytes_per_second", number(roof.gigabytes_per_second)},
            {"method", roof.method},
            {"buffer_bytes", roof.bytes},
            {"threads", roof.threads}}},
          {"read", {{"gigabytes_per_second", number(roof.read_gigabytes_per_second)}}},
          {"write", {{"gigabytes_per_second", number(roof.write_gigabytes_per_second)}}}};
}

Json floors_of(const Floors& floors) {
  Json object = Json::object();
  for (const auto& [protocol, ns] : floors) object[protocol] = ns * 1e-3;
  return object;
}

Json reading_of(const runtime::DeviceReading& reading) {
  Json object = Json::object();
  const auto add = [&](const char* name, const auto& value) {
    if (value) object[name] = *value;
  };
  add("sm_mhz", reading.sm_mhz);
  add("memory_mhz", reading.memory_mhz);
  add("temperature_c", reading.temperature_c);
  add("watts", reading.watts);
  add("limit_watts", reading.limit_watts);
  add("clock_event_reasons", reading.clock_event_reasons);
  add("power_violation_ns", reading.power_violation_ns);
  add("thermal_violation_ns", reading.thermal_violation_ns);
  add("energy_millijoules", reading.energy_millijoules);
  add("other_processes", reading.other_processes);
  return object;
}

Json timing_of(const Timing& timing) {
  const Statistics& s = timing.nanoseconds;
  Json entry = {{"protocol", timing.protocol},
                {"unit", "ns"},
                {"samples", s.count},
                {"calls_per_sample", timing.calls_per_sample},
                {"median", s.median},
                {"ci95", {s.ci_low, s.ci_high}},
                {"mad", s.mad},
                {"iqr", s.iqr},
                {"min", s.min},
                {"p05", s.p05},
                {"p95", s.p95},
                {"max", s.max},
                {"autocorrelation", s.autocorrelation},
                {"bimodal", s.bimodal},
                {"stop_reason", s.stop_reason},
                {"working_set_bytes", timing.working_set_bytes},
                {"seconds", timing.seconds},
                {"floor_us", timing.floor_ns * 1e-3},
                {"flags", timing.flags},
                {"raw", timing.samples}};
  if (timing.before && timing.after)
    entry["device"] = {{"before", reading_of(*timing.before)},
                       {"after", reading_of(*timing.after)}};
  return entry;
}

}  // namespace

Json document_of(const NumericsReport& report) {
  Json json = header_of(report.header);
  json["summary"] = summary_of(report.counts(), report.exit_code());
  if (report.fuzz_drawn > 0)
    json["fuzz"] = {{"drawn", report.fuzz_drawn}, {"illegal", report.fuzz_illegal}};
  Json coverage = Json::array();
  for (const Coverage& target : report.coverage) coverage.push_back(coverage_of(target));
  json["coverage"] = std::move(coverage);
  Json cases = Json::array();
  for (const CaseResult& result : report.cases) cases.push_back(case_of(result));
  json["cases"] = std::move(cases);
  return json;
}

Json document_of(const BenchReport& report) {
  Json json = header_of(report.header);
  json["summary"] = summary_of(report.counts(), report.exit_code());
  json["roofs"] = roofs_of(report.roof);
  json["floors_us"] = floors_of(report.floors);
  Json cases = Json::array();
  for (const BenchRow& row : report.rows) {
    Json entry = case_of(row.numerics);
    Json timings = Json::array();
    for (const Timing& timing : row.timings) timings.push_back(timing_of(timing));
    entry["benchmark"] = std::move(timings);
    entry["roofline"] = {{"bytes", row.bytes},
                         {"flops", row.flops},
                         {"gigabytes_per_second", row.gigabytes_per_second},
                         {"share_of_copy_roof", row.roof_share},
                         {"teraflops_per_second", row.teraflops_per_second},
                         {"intensity", row.intensity},
                         {"limiter", row.limiter},
                         {"roof_us", row.roof_us},
                         {"speed_of_light", row.speed_of_light}};
    entry["flags"] = row.flags;
    cases.push_back(std::move(entry));
  }
  json["cases"] = std::move(cases);
  return json;
}

namespace {

Json interval_of(const Interval& interval) { return {number(interval.low), number(interval.high)}; }

Json comparison_of(const ComparisonRow& row) {
  Json entry = {{"operation", row.operation},
                {"problem", row.problem},
                {"fill", row.fill},
                {"protocol", row.protocol},
                {"a", row.a},
                {"b", row.b},
                {"status", status_name(row.status)}};
  if (!row.compared()) {
    entry["reason"] = {{"code", reason_name(row.reason)}, {"message", row.message}};
    return entry;
  }
  const PairComparison& c = row.result;
  if (row.is_regression())
    entry["reason"] = {{"code", reason_name(Reason::kRegression)},
                       {"message", fmt::format("B takes {:.3f} times as long as A", 1 / c.ratio)}};
  entry["verdict"] = verdict_name(c.verdict);
  entry["ratio"] = number(c.ratio);
  entry["ci99"] = interval_of(c.interval);
  entry["delta"] = number(c.delta);
  entry["a_ns"] = row.a_ns;
  entry["b_ns"] = row.b_ns;
  if (row.block_samples > 0) {
    entry["control"] = {{"ratio", number(c.control)}, {"ci99", interval_of(c.control_interval)}};
    entry["drift"] = number(row.drift);
    entry["block_samples"] = row.block_samples;
    entry["pairs"] = {
        {"a_ns", row.pairs.a}, {"b_ns", row.pairs.b}, {"controls", row.pairs.controls}};
  }
  entry["flags"] = row.flags;
  return entry;
}

}  // namespace

Json document_of(const CompareReport& report) {
  Json json = header_of(report.header);
  json["a"] = report.a;
  json["b"] = report.b;
  json["interleaved"] = report.interleaved;
  json["summary"] = summary_of(report.counts(), report.exit_code());
  for (const Verdict verdict :
       {Verdict::kFaster, Verdict::kSlower, Verdict::kSame, Verdict::kAmbiguous})
    json["summary"]["verdicts"][std::string(verdict_name(verdict))] = report.count(verdict);
  if (report.interleaved) {
    json["roofs"] = roofs_of(report.roof);
    json["floors_us"] = floors_of(report.floors);
  }
  Json rows = Json::array();
  for (const ComparisonRow& row : report.rows) rows.push_back(comparison_of(row));
  json["comparisons"] = std::move(rows);
  return json;
}

}  // namespace kw::suite
