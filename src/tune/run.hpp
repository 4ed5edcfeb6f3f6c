// SPDX-License-Identifier: Apache-2.0
// `kw tune` without the command line: from problems to table entries. Problems of one
// implementation that agree in the key facts of its search space form a group and share an entry.
// Of each group every legal geometry is compiled, verified, timed, and one is picked per bucket.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernelwright/suite/report.hpp"
#include "kernelwright/tune/search.hpp"
#include "kernelwright/tune/table.hpp"

namespace kw::tune {

struct TuneRequest : suite::Request {
  TuneRequest() { batch = "bench"; }
  bool quick = false;      // fewer candidates at once and fewer rounds
  double max_seconds = 0;  // > 0: after this long no further candidate is begun
  // What is being done, for people.
  std::function<void(const std::string&)> progress;
  // After every group, with what is known then.
  std::function<void(const struct GroupOutcome&)> finished;
};

// A candidate that is wrong or does not run. Never part of a result.
struct Failure {
  std::string reason, message, repro;
};

struct ProblemOutcome {
  std::string problem, bucket;
  int candidates = 0, timed = 0;
  double default_ms = 0, chosen_ms = 0, fastest_ms = 0;  // of a call; default: the formula's
  std::string fastest;                                   // Cfg text
  std::string chosen;                                    // the same
};

struct GroupOutcome {
  std::string implementation;
  CfgPins when;
  std::string skipped;   // why there is no result; then the rest but `failures` is empty
  bool formula = false;  // the formula's geometry is as good: no entry is needed
  // Time ran out before all geometries had been tried: of those that were, this is the best.
  bool cut_short = false;
  Entry entry;
  std::vector<ProblemOutcome> problems;
  std::vector<Failure> failures;
};

struct TuneReport {
  suite::ReportHeader header;
  std::vector<GroupOutcome> groups;

  // 1: a candidate failed, though the table is good; 3: no group has a result; else 0.
  int exit_code() const noexcept;
};

// Throws Error for a request that names what does not exist, and kEnvironment when the device is
// lost.
TuneReport run_tune(const TuneRequest& request, const suite::Platform& platform,
                    std::span<const SearchSpec> searches);

// Puts the result of a group into `table`: its entry, or none where the formula is as good. A
// search that was cut short changes nothing about an entry that is there. Returns the buckets of a
// former entry that are lost because their tree is another one now.
std::vector<std::string> record(const GroupOutcome& outcome, Table& table);

std::string to_json(const TuneReport& report);

}  // namespace kw::tune
