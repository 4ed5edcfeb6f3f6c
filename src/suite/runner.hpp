// SPDX-License-Identifier: Apache-2.0
// One target bound and ready: runs cases of it and turns whatever happens into a result.
#pragma once

#include <memory>

#include "kernelwright/suite/callable.hpp"
#include "kernelwright/suite/request.hpp"
#include "kernelwright/suite/validate.hpp"

namespace kw::suite {

class TargetRunner {
 public:
  // Throws Error when the implementation cannot be bound on this device.
  // Cases that need more than `memory_bytes` on the host are judged by slices where the platform
  // has kernels for that, with a smaller problem of the same kind judged whole; elsewhere skipped.
  TargetRunner(const Target& target, const Request& request, const Platform& platform, int repeats,
               double memory_bytes);

  // Not applicable, skipped, or judged. Throws nothing that stems from the case.
  CaseResult run(const Case& spec);
  // Whether the implementation serves the problem.
  bool accepts(const Problem& problem) const { return bound_.accepts(problem); }

  BoundImplementation& bound() noexcept { return bound_; }
  Scratch& scratch() noexcept { return *scratch_; }

 private:
  void judge(const Case& spec, CaseResult& result);
  void judge_slices(const Case& spec, CaseResult& result);

  const Platform& platform_;
  const CfgPins pins_;
  std::unique_ptr<Scratch> scratch_;
  BoundImplementation bound_;
  ValidateOptions options_;
  double memory_bytes_;
};

}  // namespace kw::suite
