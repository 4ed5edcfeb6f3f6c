// SPDX-License-Identifier: Apache-2.0
// Two bench reports beside each other. They were not interleaved, so that what counts as the same
// is wider, and everything in which the two runs differ but the code makes them incomparable.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/suite/comparison.hpp"

namespace kw::suite {
namespace {

using Json = nlohmann::json;

constexpr double kLeastDelta = 0.03;  // between runs, minutes or machines of one model apart
constexpr double kNoises = 3;         // times the pooled MAD
constexpr int kResamples = 10000;
constexpr double kConfidence = 0.99;
// Facts of the environment that have to agree.
constexpr const char* kSameFacts[] = {
    "device",          "model",    "capability", "threads",
    "multiprocessors", "features", "driver",     "power_limit_watts"};
// In the order of preference: what a row is compared by.
constexpr const char* kProtocols[] = {"graph_cold", "wall_cold", "device_cold", "eager_cold",
                                      "wall_sync"};

struct ReportRow {
  std::string operation, problem, fill, implementation, protocol;
  CaseStatus status = CaseStatus::kPassed;
  std::string message;
  std::vector<double> samples;
  std::vector<std::string> flags;

  std::string key() const { return problem + "  fill " + fill; }
};

struct ReadReport {
  std::string name;
  std::map<std::string, std::string> environment;
  std::vector<ReportRow> rows;
};

ReportRow read_row(const Json& entry) {
  ReportRow row;
  row.operation = entry.at("operation");
  row.problem = entry.at("problem");
  row.fill = entry.at("fill");
  row.implementation = entry.at("implementation");
  const std::string status = entry.at("status");
  if (status != "passed") {
    row.status = status == "failed" ? CaseStatus::kFailed : CaseStatus::kNotApplicable;
    row.message = status;
    if (entry.contains("reason")) row.message = entry["reason"].at("message");
    return row;
  }
  for (const char* protocol : kProtocols) {
    for (const Json& timing : entry.at("benchmark")) {
      if (!row.protocol.empty() || timing.at("protocol") != protocol) continue;
      row.protocol = protocol;
      row.samples = timing.at("raw").get<std::vector<double>>();
      row.flags = timing.at("flags").get<std::vector<std::string>>();
    }
  }
  if (row.samples.empty()) {
    row.status = CaseStatus::kSkipped;
    row.message = "was not timed";
  }
  return row;
}

ReadReport read_report(const std::string& text, const std::string& name) {
  ReadReport report;
  report.name = name;
  try {
    const Json json = Json::parse(text);
    const std::string schema = json.at("schema"), kind = json.at("kind");
    if (schema != "kw.report/1" || kind != "bench") {
      fail(Code::kInvalidArgument,
           "'{}' is a report of kind '{}', schema '{}'; two of kind 'bench', schema 'kw.report/1', "
           "can be compared (`kw bench --output FILE.json`)",
           name, kind, schema);
    }
    report.environment = json.at("environment").get<std::map<std::string, std::string>>();
    for (const Json& entry : json.at("cases")) report.rows.push_back(read_row(entry));
  } catch (const nlohmann::json::exception& error) {
    fail(Code::kInvalidArgument, "'{}' is no report of `kw bench --output FILE.json`: {}", name,
         error.what());
  }
  if (report.rows.empty()) fail(Code::kInvalidArgument, "report '{}' has no case", name);
  return report;
}

// The rows of `report` by problem and fill, and by implementation where a problem has several.
std::map<std::string, const ReportRow*> by_key(const ReadReport& report) {
  std::map<std::string, int> uses;
  for (const ReportRow& row : report.rows) ++uses[row.key()];
  std::map<std::string, const ReportRow*> rows;
  for (const ReportRow& row : report.rows) {
    const bool several = uses[row.key()] > 1;
    rows[several ? row.key() + "  by " + row.implementation : row.key()] = &row;
  }
  return rows;
}

class Differences {
 public:
  void facts(const ReadReport& a, const ReadReport& b) {
    for (const char* name : kSameFacts) {
      const auto value = [&](const ReadReport& report) {
        const auto it = report.environment.find(name);
        return it == report.environment.end() ? std::string("none") : it->second;
      };
      if (value(a) != value(b)) add(fmt::format("{} '{}' and '{}'", name, value(a), value(b)));
    }
  }
  void add(std::string text) { found_.push_back(std::move(text)); }
  void raise(const ReadReport& a, const ReadReport& b) const {
    if (found_.empty()) return;
    constexpr std::size_t kShown = 6;
    std::vector<std::string> shown(
        found_.begin(),
        found_.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, found_.size())));
    if (found_.size() > kShown) shown.push_back(fmt::format("{} more", found_.size() - kShown));
    fail(Code::kInvalidArgument,
         "reports '{}' and '{}' are incomparable: {}; take both on one machine with one request",
         a.name, b.name, join(shown, "; "));
  }

 private:
  std::vector<std::string> found_;
};

double relative_noise(const std::vector<double>& samples) {
  const Statistics s = summarize(samples, 0);
  return s.median > 0 ? s.mad / s.median : 0;
}

void conclude(ComparisonRow& row, const ReportRow& a, const ReportRow& b) {
  row.a_ns = median_of(a.samples);
  row.b_ns = median_of(b.samples);
  const Interval of_a = bootstrap_median(a.samples, kConfidence, kResamples);
  const Interval of_b = bootstrap_median(b.samples, kConfidence, kResamples);
  row.result.ratio = row.a_ns / row.b_ns;
  row.result.interval = {of_a.low / of_b.high, of_a.high / of_b.low};
  // Not std::hypot, whose symbol is of glibc 2.35.
  const double noise_a = relative_noise(a.samples), noise_b = relative_noise(b.samples);
  const double noise = std::sqrt(noise_a * noise_a + noise_b * noise_b);
  row.result.delta = std::max(kLeastDelta, kNoises * noise);
  row.result.verdict = verdict_of(row.result.interval, row.result.delta);
  for (const ReportRow* side : {&a, &b}) {
    for (const std::string& flag : side->flags) {
      if (std::find(row.flags.begin(), row.flags.end(), flag) == row.flags.end())
        row.flags.push_back(flag);
    }
  }
  const auto has = [&](const ReportRow& side, std::string_view flag) {
    return std::find(side.flags.begin(), side.flags.end(), flag) != side.flags.end();
  };
  const bool below =
      has(a, reason_name(Reason::kBelowFloor)) || has(b, reason_name(Reason::kBelowFloor));
  // Held back in one run and not in the other: the figures are of different clocks.
  bool mismatch = false;
  for (const char* flag : {"power_limited", "thermal", "not_cold", "shared_gpu"})
    mismatch = mismatch || has(a, flag) != has(b, flag);
  if (below || mismatch) row.result.verdict = Verdict::kAmbiguous;
}

}  // namespace

CompareReport compare_reports(const std::string& a_json, const std::string& b_json,
                              const std::string& a_name, const std::string& b_name) {
  const ReadReport a = read_report(a_json, a_name), b = read_report(b_json, b_name);
  const auto rows_a = by_key(a), rows_b = by_key(b);
  Differences differences;
  differences.facts(a, b);
  for (const auto& [key, row] : rows_a) {
    const auto other = rows_b.find(key);
    if (other == rows_b.end())
      differences.add(fmt::format("problem '{}' only in '{}'", key, a_name));
    else if (row->protocol != other->second->protocol && !row->protocol.empty() &&
             !other->second->protocol.empty())
      differences.add(fmt::format("protocol '{}' and '{}' of '{}'", row->protocol,
                                  other->second->protocol, key));
  }
  for (const auto& [key, row] : rows_b) {
    if (rows_a.count(key) == 0)
      differences.add(fmt::format("problem '{}' only in '{}'", key, b_name));
  }
  differences.raise(a, b);

  CompareReport report;
  report.a = a_name;
  report.b = b_name;
  report.interleaved = false;
  report.header.kind = "compare";
  report.header.started = report.header.ended = utc_now();
  report.header.request = a_name + " against " + b_name;
  for (const auto& [name, value] : a.environment)
    report.header.environment.emplace_back(name, value);
  for (const auto& [key, of_a] : rows_a) {
    const ReportRow& of_b = *rows_b.at(key);
    ComparisonRow row;
    row.operation = of_a->operation;
    row.problem = of_a->problem;
    row.fill = of_a->fill;
    row.protocol = of_a->protocol;
    row.a = of_a->implementation;
    row.b = of_b.implementation;
    const ReportRow* bad = of_a->status != CaseStatus::kPassed  ? of_a
                           : of_b.status != CaseStatus::kPassed ? &of_b
                                                                : nullptr;
    if (bad == nullptr) {
      conclude(row, *of_a, of_b);
    } else {
      row.status = bad->status;
      row.reason = Reason::kIncomparable;
      row.message = fmt::format("{} in '{}': {}", bad->implementation,
                                bad == of_a ? a_name : b_name, bad->message);
    }
    report.rows.push_back(std::move(row));
  }
  return report;
}

}  // namespace kw::suite
