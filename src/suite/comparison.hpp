// SPDX-License-Identifier: Apache-2.0
// `kw compare`: which of two implementations, builds or reports is faster on each problem. Both
// have passed numerics, or there is no verdict.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernelwright/suite/pairing.hpp"
#include "kernelwright/suite/report.hpp"

namespace kw::suite {

// Baseline instead of an implementation: a copy of as many bytes as the contract says. A's time by
// B's is then the share of the roof that B reaches, whatever neighbours the machine has.
inline constexpr const char* kCopy = "copy";

struct CompareRequest : Request {
  CompareRequest() { batch = "bench"; }
  std::string a, b;  // implementations: exact names or solutions; A is the baseline, or kCopy
  std::string fill = "normal";
  bool hot = false;  // one set of buffers instead of a rotation
  PairRule rule;
};

struct ComparisonRow {
  std::string operation, problem, fill, protocol;
  std::string a, b;  // names of the sides
  // Why there is no verdict; its code is that of the side that failed.
  Reason reason = Reason::kNone;
  std::string message;
  CaseStatus status = CaseStatus::kPassed;

  double a_ns = 0, b_ns = 0;  // medians
  int block_samples = 0;      // 0: from reports
  double drift = 1;           // last pair of A by the first
  Pairs pairs;
  PairComparison result;
  std::vector<std::string> flags;  // below_floor and implausible_speed make a verdict AMBIGUOUS

  bool compared() const noexcept { return status == CaseStatus::kPassed; }
  // B is slower than another implementation; to be slower than the copy roof is none.
  bool is_regression() const noexcept {
    return compared() && result.verdict == Verdict::kSlower && a != kCopy;
  }
};

struct CompareReport {
  ReportHeader header;
  std::string a, b;
  bool interleaved = true;  // else from samples of two runs
  Roof roof;
  Floors floors;
  std::vector<ComparisonRow> rows;

  int count(Verdict verdict) const noexcept;
  int regressions() const noexcept;
  Counts counts() const;
  // 1: B is slower than another implementation somewhere, or a side failed; 3: nothing was
  // compared; else 0.
  int exit_code() const;
};

// Throws what run_bench throws, and Error(kInvalidArgument) for sides of different operations and
// for a copy as B.
CompareReport run_compare(const CompareRequest& request, const Platform& platform,
                          const std::function<void(const ComparisonRow&)>& progress = {});

// By the samples of two bench reports, JSON text each. No device is touched. Throws
// Error(kInvalidArgument) when a text is no such report, or with all that makes the two
// incomparable: devices, drivers, protocols, problems.
CompareReport compare_reports(const std::string& a_json, const std::string& b_json,
                              const std::string& a_name, const std::string& b_name);

std::string to_json(const CompareReport& report);
std::string to_markdown(const CompareReport& report);
void write_report(const CompareReport& report, const std::string& path);

// What follows from the pairs of a row: ratio, verdict, medians, drift. Flags are set before.
void conclude_row(ComparisonRow& row, const PairRule& rule);

}  // namespace kw::suite
