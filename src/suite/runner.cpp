// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/runner.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>

#include <fmt/core.h>

#include "kernelwright/base/error.hpp"
#include "kernelwright/jit/errors.hpp"
#include "kernelwright/suite/checks/class_checks.hpp"
#include "kernelwright/suite/checks/device_pages.hpp"
#include "kernelwright/suite/code_identity.hpp"
#include "kernelwright/suite/slices.hpp"

namespace kw::suite {
namespace {

constexpr double kPrefixBytes = 256e6;  // of host memory: a fraction of a second

// An exception while a case was prepared: whose fault.
std::pair<CaseStatus, Reason> blame(const Error& error) {
  if (dynamic_cast<const jit::LoadError*>(&error) != nullptr)
    return {CaseStatus::kError, Reason::kLoadError};
  if (dynamic_cast<const jit::CompileError*>(&error) != nullptr)
    return {CaseStatus::kError, Reason::kCompileError};
  switch (error.code()) {
    case Code::kEnvironment:  // there is no compiler
      return {CaseStatus::kError, Reason::kCompileError};
    case Code::kInternal:
    case Code::kConflict:
      return {CaseStatus::kError, Reason::kDeviceError};
    // It declared the domain and then refused: a failure, never "not applicable".
    default:
      return {CaseStatus::kFailed, Reason::kRejectedValid};
  }
}

}  // namespace

TargetRunner::TargetRunner(const Target& target, const Request& request, const Platform& platform,
                           int repeats, double memory_bytes)
    : platform_(platform),
      how_{target.implementation->info.name, device_flag(platform.device.hardware()), request.mode,
           request.pins, repeats},
      scratch_(platform.device),
      bound_(platform.catalog, platform.device, *target.implementation, *target.operation->contract,
             request.pins, request.mode, platform.overrides),
      options_{repeats, target.implementation->info.deterministic,
               target.implementation->info.batch_invariant},
      memory_bytes_(memory_bytes) {}

CaseResult TargetRunner::run(const Case& spec) {
  const auto start = std::chrono::steady_clock::now();
  CaseResult result;
  judge(spec, result);
  result.id = case_id(spec);
  result.operation = spec.problem.operation();
  result.variant = spec.problem.variant_name();
  result.implementation = bound_.implementation().info.name;
  result.problem = problem_text(spec.problem);
  result.fill = spec.fill;
  result.seed = spec.seed;
  result.repro = repro_line(spec, how_);
  result.canonical = canonical_line(spec, how_);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

void TargetRunner::judge(const Case& spec, CaseResult& result) {
  const auto end = [&](CaseStatus status, Reason reason, std::string message) {
    result.status = status;
    result.reason = reason;
    result.message = std::move(message);
  };
  if (const auto declined = bound_.declines(spec.problem)) {
    if (declined->reason == Reason::kDomainExcluded && declined_checks_-- > 0 &&
        !refuses(spec.problem)) {
      return end(CaseStatus::kFailed, Reason::kRejectedValid,
                 "it declines the problem, and yet prepares it: " + declined->text);
    }
    return end(CaseStatus::kNotApplicable, declined->reason, declined->text);
  }
  const double needed = case_bytes(spec.problem);
  const std::string why = needed <= memory_bytes_ ? ""
                          : platform_.kernels == nullptr
                              ? "this device has no kernels for slices"
                              : why_whole(spec.problem, platform_.catalog);
  const bool by_slices = needed > memory_bytes_ && why.empty();
  if (needed > memory_bytes_ && !by_slices) {
    return end(
        CaseStatus::kSkipped, Reason::kOomSkipped,
        fmt::format("needs about {:.1f} GB of host memory with its oracle; {:.1f} GB are granted, "
                    "and it cannot be judged by slices: {}",
                    needed * 1e-9, memory_bytes_ * 1e-9, why));
  }
  try {
    bound_.prepare(spec.problem);
  } catch (const Error& error) {
    const auto [status, reason] = blame(error);
    return end(status, reason, std::string("prepare: ") + error.what());
  }
  // The checks prepare other problems, too.
  const std::string specialization = bound_.specialization();
  const Plan& plan = bound_.plan();
  try {
    auto pages = by_slices ? std::nullopt : watch_pages(spec);
    if (pages && !pages->passed) {
      CheckList checks;
      checks.add(std::move(*pages));
      return checks.conclude(result);
    }
    if (by_slices)
      judge_slices(spec, result);
    else
      result = validate(spec, bound_, scratch_, platform_.device, platform_.catalog, options_);
    if (pages) result.checks.insert(result.checks.begin(), std::move(*pages));
    if (checks_classes_ && !by_slices) check_class(spec, specialization, result);
    if (result.status == CaseStatus::kPassed)
      result.code = code_identity(bound_.implementation(), plan.describe());
  } catch (const Error& error) {
    end(CaseStatus::kError, Reason::kDeviceError, error.what());
  } catch (const std::bad_alloc&) {
    end(CaseStatus::kSkipped, Reason::kOomSkipped, "host memory is short");
  }
  result.specialization = specialization;
}

void TargetRunner::check_class(const Case& spec, const std::string& specialization,
                               CaseResult& result) {
  if (result.status != CaseStatus::kPassed || spec.fill != Fill::kNormal ||
      spec.problem.rows() == 0 || class_check_bytes(spec.problem) > kClassCheckBytes)
    return;
  if (!classes_.insert(type_signature(spec.problem) + specialization).second) return;
  CheckList checks;
  for (CheckResult& check : result.checks) checks.add(std::move(check));
  ClassChecks(spec, bound_, platform_, options_, checks).run();
  checks.conclude(result);
}

std::optional<CheckResult> TargetRunner::watch_pages(const Case& spec) {
  if (platform_.pages == nullptr || !checks_classes_ || !bound_.survives_fork() ||
      spec.fill != Fill::kNormal || spec.recorded != nullptr || !can_guard(spec.problem) ||
      !paged_.insert(type_signature(spec.problem) + bound_.specialization()).second)
    return std::nullopt;
  if (auto found = platform_.pages->check(spec, how_.implementation, how_.pins)) return found;
  return CheckResult{"pages", true, Reason::kNone, {}, {}};
}

bool TargetRunner::refuses(const Problem& problem) {
  try {
    bound_.prepare(problem);
    return false;
  } catch (const Error&) {
    return true;
  }
}

// Outputs that only the whole shows are judged on as many slices as the host can hold.
void TargetRunner::judge_slices(const Case& spec, CaseResult& result) {
  const double device = device_case_bytes(spec.problem);
  const auto free = static_cast<double>(platform_.device.memory_info().free_bytes);
  if (device > 0.9 * free) {
    result.status = CaseStatus::kSkipped;
    result.reason = Reason::kOomSkipped;
    result.message = fmt::format("needs {:.1f} GB of device memory; {:.1f} GB are free",
                                 device * 1e-9, free * 1e-9);
    return;
  }
  const std::int64_t slices = slice_count(spec.problem);
  const double most = std::min(memory_bytes_, kPrefixBytes) / case_bytes(spec.problem);
  const auto size =
      std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(slices) * most), 1);
  const Case prefix{batch_prefix(spec.problem, size), spec.fill, spec.seed};
  if (bound_.accepts(prefix.problem)) {
    bound_.prepare(prefix.problem);
    result = validate(prefix, bound_, scratch_, platform_.device, platform_.catalog, options_);
    if (result.status != CaseStatus::kPassed) {
      result.message = fmt::format("in its first {} slices: {}", size, result.message);
      return;
    }
  }
  std::vector<CheckResult> before = std::move(result.checks);
  for (CheckResult& check : before) check.name = "prefix:" + check.name;
  result = validate_slices(spec, bound_, scratch_, platform_, options_);
  result.checks.insert(result.checks.begin(), std::make_move_iterator(before.begin()),
                       std::make_move_iterator(before.end()));
}

}  // namespace kw::suite
