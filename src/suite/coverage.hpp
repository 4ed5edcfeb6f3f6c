// SPDX-License-Identifier: Apache-2.0
// What a run exercised of what its target declares, and how much of the batch the target left out:
// a run in which little was judged must not look like one that passed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernelwright/suite/case.hpp"
#include "kernelwright/suite/request.hpp"

namespace kw::suite {

// Cases by value, in the order in which values are declared; 0: declared, and never judged.
struct Axis {
  std::string name;
  std::vector<std::pair<std::string, int>> values;

  void count(std::string_view value, int cases);
};

struct Coverage {
  std::string operation, implementation;
  int cases = 0, judged = 0;
  // Not applicable: a variant that it does not implement or a machine that it does not run on, and
  // problems that its own predicate excludes.
  int unclaimed = 0, domain_excluded = 0;
  Axis not_applicable{"reason", {}};  // by reason code
  std::vector<Axis> axes;             // variant, dtype (of the first tensor), fill, layout, size
  double limit = 1;                   // of excluded_share(); 1: none

  // Of the cases that it claims.
  double excluded_share() const noexcept {
    return cases > unclaimed ? static_cast<double>(domain_excluded) / (cases - unclaimed) : 0;
  }
  bool exceeds_limit() const noexcept { return excluded_share() > limit; }
  // "cpu.x.y leaves out 3 of 8 cases ...": what exceeds_limit() means to a reader.
  std::string limit_message() const;
};

class CoverageTally {
 public:
  CoverageTally(const Target& target, const Request& request);
  void add(const Problem& problem, const CaseResult& result);
  Coverage take() { return std::move(coverage_); }

 private:
  Coverage coverage_;
};

}  // namespace kw::suite
