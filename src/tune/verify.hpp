// SPDX-License-Identifier: Apache-2.0
// Whether a geometry computes the right thing, before it may be timed: on the first rows of the
// problem, with the suite's checks of memory and its gates on values.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "kernelwright/suite/runner.hpp"

namespace kw::tune {

struct Verdict {
  suite::CaseStatus status = suite::CaseStatus::kPassed;
  suite::Reason reason = suite::Reason::kNone;
  std::string message;

  bool passed() const noexcept { return status == suite::CaseStatus::kPassed; }
};

// The problem of the first rows, as many as keep every tensor within `elements`; `problem` itself
// when it is small or has no batch.
Problem first_rows(const Problem& problem, std::int64_t elements);

// Throws Error(kEnvironment) when the device no longer answers, with what failed before and how to
// run it again.
void require_alive(runtime::Device& device, const std::string& failure, const std::string& again);

// Of candidates on one problem. Inputs are made once, and outputs that agree bitwise with some that
// were judged before are not judged again.
class Verifier {
 public:
  // `spec.problem` is used as it is.
  Verifier(suite::Case spec, const suite::Platform& platform);
  ~Verifier();
  // Throws Error(kEnvironment) when the device is lost with this candidate.
  Verdict verify(suite::TargetRunner& runner, const CfgPins& pins);

 private:
  struct Scene;
  Verdict judge(suite::TargetRunner& runner);

  const suite::Case spec_;
  const suite::Platform& platform_;
  std::unique_ptr<Scene> scene_;  // made anew after a failure, which may have spoilt the inputs
  std::map<std::vector<std::vector<std::byte>>, Verdict> judged_;  // by outputs
};

}  // namespace kw::tune
