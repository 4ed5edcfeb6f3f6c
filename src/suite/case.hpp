// SPDX-License-Identifier: Apache-2.0
// A case: problem, fill and seed. Its result: status, reason, every check, the errors of every
// output, and the one line that runs it again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernelwright/core/problem.hpp"
#include "kernelwright/suite/compare.hpp"
#include "kernelwright/suite/fill.hpp"
#include "kernelwright/suite/result.hpp"

namespace kw::suite {

struct Case {
  Problem problem;  // checked, without free dimensions
  Fill fill = Fill::kNormal;
  std::uint64_t seed = 1;
};

// Equal for equal problem, fill and seed, on every machine: 16 hex digits.
std::string case_id(const Case& spec);

// "kw numerics --implementation X --problem '...' --fill F --seed N --cfg a=b"; defaults are
// omitted.
std::string repro_line(const Case& spec, std::string_view implementation,
                       const std::map<std::string, std::string>& pins);

struct CaseResult {
  std::string id, operation, variant, implementation, problem, specialization;
  Fill fill = Fill::kNormal;
  std::uint64_t seed = 1;
  CaseStatus status = CaseStatus::kPassed;
  Reason reason = Reason::kNone;  // of the first failed check
  std::string message;
  std::vector<CheckResult> checks;
  std::vector<OutputMetrics> outputs;
  double trust = 0;  // smallest over outputs; 0: not measured
  double seconds = 0;
  std::string repro;
};

}  // namespace kw::suite
