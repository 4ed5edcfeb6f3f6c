// SPDX-License-Identifier: Apache-2.0
// A case: problem, fill and seed. Its result: status, reason, every check, the errors of every
// output, and the one line that runs it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernelwright/core/hardware.hpp"
#include "kernelwright/core/problem.hpp"
#include "kernelwright/suite/compare.hpp"
#include "kernelwright/suite/fill.hpp"
#include "kernelwright/suite/result.hpp"

namespace kw::suite {

// Contents of one tensor, in row-major order without gaps.
struct RecordedTensor {
  std::string name;  // of the operand
  DType dtype = DType::kF32;
  std::vector<std::byte> bytes;
};

inline constexpr int kDefaultRepeats = 5;  // calls that must agree bitwise

struct Case {
  Problem problem;  // checked, without free dimensions
  Fill fill = Fill::kNormal;
  std::uint64_t seed = 1;
  // Contents of every read operand, instead of what fill and seed would make; null: those.
  std::shared_ptr<const std::vector<RecordedTensor>> recorded = nullptr;
};

// Equal for equal problem, fill and seed, on every machine: 16 hex digits.
std::string case_id(const Case& spec);

// How a case was run, beside what it is.
struct Circumstances {
  std::string implementation;  // exact name
  std::string device = "cpu";  // as --device names it
  Mode mode = Mode::kEager;
  std::map<std::string, std::string> pins;
  int repeats = kDefaultRepeats;
};

// "cpu", "cuda", "cuda:1": as --device names it.
std::string device_flag(const Hardware& hardware);

// "kw numerics --implementation X --problem '...' --fill F --seed N --cfg a=b": the line that runs
// the case again, without what is default; canonical_line() has that, too.
std::string repro_line(const Case& spec, const Circumstances& how);
std::string canonical_line(const Case& spec, const Circumstances& how);

// Where the inputs of a failed case were put, relative to the report, or why they were not.
struct Recording {
  std::string file, sha256, omitted;
  std::int64_t bytes = 0;
};

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
  std::string repro, canonical;
  std::string code;     // what ran: see code_identity(); of a case that passed
  Recording recording;  // of a failed case, once record_failures() ran
};

}  // namespace kw::suite
