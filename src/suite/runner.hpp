// SPDX-License-Identifier: Apache-2.0
// One target bound and ready: runs cases of it and turns whatever happens into a result.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

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

  // From now on the first passing case of each class, which is variant, dtypes and specialization,
  // also goes through the class checks.
  void check_classes() noexcept { checks_classes_ = true; }

  // Not applicable, skipped, or judged. Throws nothing that stems from the case.
  CaseResult run(const Case& spec);
  // Whether the implementation serves the problem.
  bool accepts(const Problem& problem) const { return bound_.accepts(problem); }

  const Circumstances& circumstances() const noexcept { return how_; }
  BoundImplementation& bound() noexcept { return bound_; }
  Scratch& scratch() noexcept { return scratch_; }

 private:
  void judge(const Case& spec, CaseResult& result);
  void judge_slices(const Case& spec, CaseResult& result);
  void check_class(const Case& spec, const std::string& specialization, CaseResult& result);
  // On a device a fault would end this process's use of it: the first case of a class is called in
  // a worker first. Nothing for the others; what passed or failed.
  std::optional<CheckResult> watch_pages(const Case& spec);
  // Whether a call of a problem that it declines would be refused, too; runs nothing.
  bool refuses(const Problem& problem);

  const Platform& platform_;
  const Circumstances how_;
  Scratch scratch_;
  BoundImplementation bound_;
  ValidateOptions options_;
  double memory_bytes_;
  bool checks_classes_ = false;
  std::set<std::string> classes_;  // seen
  std::set<std::string> paged_;    // the same, before their first case is judged
  int declined_checks_ = 8;        // declined cases that are still to be cross-checked
};

}  // namespace kw::suite
