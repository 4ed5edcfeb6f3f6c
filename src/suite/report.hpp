// SPDX-License-Identifier: Apache-2.0
// Reports as values: who ran what where, and the cases. Written as JSON (schema kw.report/1), as
// Markdown or as one page of HTML; the suite itself prints nothing.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernelwright/runtime/monitor.hpp"
#include "kernelwright/suite/case.hpp"
#include "kernelwright/suite/coverage.hpp"
#include "kernelwright/suite/request.hpp"
#include "kernelwright/suite/statistics.hpp"

namespace kw::suite {

using Facts = std::vector<std::pair<std::string, std::string>>;

struct ReportHeader {
  std::string kind;            // "numerics", "bench"
  std::string started, ended;  // UTC, ISO 8601
  double seconds = 0;
  bool complete = true;  // false: interrupted, and the report is of what was done until then
  std::vector<std::string> argv;
  std::string revision, request;  // request: in words
  Facts environment;
  // Added by callers (a CI job's id); never replaces a field of the report.
  Facts metadata;
};

// Host, kernel, compiler, device and build. No host or user name.
Facts describe_environment(const runtime::Device& device);
std::string utc_now();

// Fills the header of one run: made before it, so that the load average is not our own, and
// finished after it with the request in words.
class HeaderDraft {
 public:
  HeaderDraft(std::string kind, const Request& request, const runtime::Device& device);
  ReportHeader finish(std::string request);

 private:
  ReportHeader header_;
  std::chrono::steady_clock::time_point start_;
};
// What is run, an operation or an implementation, and "batch smoke of <that>".
const std::string& request_subject(const Request& request) noexcept;
std::string describe_request(const Request& request);

struct Counts {
  int passed = 0, failed = 0, error = 0, mistrusted = 0, not_applicable = 0, skipped = 0;
  // Of all that did not pass, and of verdicts SLOWER.
  std::vector<std::pair<std::string, int>> by_reason;

  int total() const noexcept {
    return passed + failed + error + mistrusted + not_applicable + skipped;
  }
  // 1: a case failed or could not be judged; 3: none passed; else 0.
  int exit_code() const noexcept;
};
Counts count(const std::vector<CaseResult>& cases);

// What a shell shows for SIGINT.
inline constexpr int kInterruptedExit = 130;

struct NumericsReport {
  ReportHeader header;
  std::vector<CaseResult> cases;
  std::vector<Coverage> coverage;        // per target
  int fuzz_drawn = 0, fuzz_illegal = 0;  // draws in all, and those outside the contract

  Counts counts() const { return count(cases); }
  // 3 also when a target left out more of the batch than it may; kInterruptedExit when interrupted.
  int exit_code() const;
};

// One protocol of one problem.
struct Timing {
  std::string protocol;  // "wall_cold", "graph_hot", "call"
  Statistics nanoseconds;
  std::vector<double> samples;
  double working_set_bytes = 0;  // distinct bytes touched before one is touched again
  int calls_per_sample = 1;
  double seconds = 0;              // of all samples together
  double floor_ns = 0;             // of an empty call through the same protocol; 0: not measured
  std::vector<std::string> flags;  // "below_floor", "not_cold", "power_limited", ...
  std::optional<runtime::DeviceReading> before, after;  // the samples; where a monitor serves

  bool has(std::string_view flag) const noexcept;
};

struct BenchRow {
  CaseResult numerics;  // timed only when passed
  std::vector<Timing> timings;
  double bytes = 0, flops = 0;
  double gigabytes_per_second = 0, roof_share = 0;  // of the cold figure, as all below
  double teraflops_per_second = 0;
  double intensity = 0;       // flops per byte
  double roof_us = 0;         // the least time that the measured roofs and floors allow
  double speed_of_light = 0;  // roof_us by the time taken
  std::string limiter;        // what roof_us follows from: "memory", "latency"
  std::vector<std::string> flags;
};

struct Roof {
  double gigabytes_per_second = 0;  // of a copy: bytes read plus bytes written
  std::string method;               // "memcpy", "streaming stores", "device copy"
  double bytes = 0;                 // of one buffer
  int threads = 0;
  double read_gigabytes_per_second = 0, write_gigabytes_per_second = 0;  // 0: not measured

  // No kernel moves its bytes faster.
  double fastest() const noexcept;
};

// Of an empty call, by the name of the figure.
using Floors = std::vector<std::pair<std::string, double>>;

struct BenchReport {
  ReportHeader header;
  Roof roof;
  Floors floors;
  std::vector<BenchRow> rows;

  Counts counts() const;
  // As for numerics. A row that is implausibly fast has failed.
  int exit_code() const;
};

std::string to_json(const NumericsReport& report);
std::string to_json(const BenchReport& report);
std::string to_markdown(const NumericsReport& report);
std::string to_markdown(const BenchReport& report);
std::string to_html(const NumericsReport& report);
std::string to_html(const BenchReport& report);

// Chooses by the suffix (.json, .md or .html) and replaces the file as a whole. Throws
// Error(kInvalidArgument | kEnvironment).
void write_report(const NumericsReport& report, const std::string& path);
void write_report(const BenchReport& report, const std::string& path);

}  // namespace kw::suite
