// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/runner.hpp"

#include <chrono>
#include <new>

#include <fmt/core.h>

#include "kernelwright/base/error.hpp"

namespace kw::suite {
namespace {

// An exception of a case: whose fault, by its code.
std::pair<CaseStatus, Reason> blame(Code code, bool prepared) {
  switch (code) {
    case Code::kEnvironment:
      return {CaseStatus::kError, prepared ? Reason::kDeviceError : Reason::kCompileError};
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
      pins_(request.pins),
      scratch_(make_scratch(platform.device)),
      bound_(platform.catalog, scratch_->port(), *target.implementation,
             *target.operation->contract, request.pins, request.mode, platform.overrides),
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
  result.specialization = bound_.specialization();
  result.fill = spec.fill;
  result.seed = spec.seed;
  result.repro = repro_line(spec, result.implementation, pins_);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

void TargetRunner::judge(const Case& spec, CaseResult& result) {
  const auto end = [&](CaseStatus status, Reason reason, std::string message) {
    result.status = status;
    result.reason = reason;
    result.message = std::move(message);
  };
  if (const auto declined = bound_.declines(spec.problem))
    return end(CaseStatus::kNotApplicable, declined->reason, declined->text);
  if (const double needed = case_bytes(spec.problem); needed > memory_bytes_) {
    return end(
        CaseStatus::kSkipped, Reason::kOomSkipped,
        fmt::format("needs about {:.1f} GB of host memory with its oracle; {:.1f} GB are granted",
                    needed * 1e-9, memory_bytes_ * 1e-9));
  }
  try {
    bound_.prepare(spec.problem);
  } catch (const Error& error) {
    const auto [status, reason] = blame(error.code(), false);
    return end(status, reason, std::string("prepare: ") + error.what());
  }
  try {
    result = validate(spec, bound_, *scratch_, platform_.device, platform_.catalog, options_);
  } catch (const Error& error) {
    end(CaseStatus::kError, Reason::kDeviceError, error.what());
  } catch (const std::bad_alloc&) {
    end(CaseStatus::kSkipped, Reason::kOomSkipped, "host memory is short");
  }
}

}  // namespace kw::suite
