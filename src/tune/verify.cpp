// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/tune/verify.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/suite/checked_call.hpp"
#include "kernelwright/suite/judge.hpp"
#include "kernelwright/suite/operand.hpp"

namespace kw::tune {

using suite::CaseStatus;
using suite::Reason;

Problem first_rows(const Problem& problem, std::int64_t elements) {
  if (!suite::has_batch(problem)) return problem;
  std::int64_t largest = 1;
  for (const suite::Operand& operand : suite::operands_of(problem)) {
    largest = std::max(largest, operand.spec.numel());
  }
  if (largest <= elements) return problem;
  const std::int64_t size = problem.symbols.batch.front();
  const std::int64_t slice = std::max<std::int64_t>(1, largest / std::max<std::int64_t>(1, size));
  return suite::batch_prefix(problem, std::clamp<std::int64_t>(elements / slice, 1, size));
}

void require_alive(runtime::Device& device, const std::string& failure, const std::string& again) {
  try {
    device.synchronize(nullptr);
  } catch (const Error& error) {
    fail(Code::kEnvironment,
         "the device is lost ({}) after a candidate that failed: {}\nIt was\n  {}\nPin a field "
         "(--cfg) to keep the search away from it.",
         error.what(), failure, again);
  }
}

struct Verifier::Scene {
  suite::PlacedTensors placed;
  std::vector<std::vector<double>> inputs;

  Scene(const suite::Case& spec, const suite::Platform& platform)
      : placed(platform.device, spec.problem, spec.seed) {
    suite::fill_inputs(placed, spec.problem, spec.fill, spec.seed, platform.catalog);
    inputs = suite::read_inputs(placed);
  }
};

Verifier::Verifier(suite::Case spec, const suite::Platform& platform)
    : spec_(std::move(spec)), platform_(platform) {}
Verifier::~Verifier() = default;

Verdict Verifier::verify(suite::TargetRunner& runner, const CfgPins& pins) {
  Verdict verdict;
  try {
    verdict = judge(runner);
  } catch (const Error& error) {
    verdict = {CaseStatus::kError, Reason::kCompileError, error.what()};
  }
  if (verdict.passed()) return verdict;
  require_alive(platform_.device, verdict.message,
                suite::repro_line(spec_, {.implementation = runner.circumstances().implementation,
                                          .device = runner.circumstances().device,
                                          .pins = pins}));
  scene_ = nullptr;
  return verdict;
}

Verdict Verifier::judge(suite::TargetRunner& runner) {
  if (scene_ == nullptr) scene_ = std::make_unique<Scene>(spec_, platform_);
  runner.bound().prepare(spec_.problem);
  suite::CheckList checks;
  suite::CheckedCall call(spec_.problem, scene_->placed, runner.bound(), runner.scratch(),
                          platform_.device, checks);
  const auto failure = [&](const suite::CheckResult& check) {
    const bool harness = check.reason == Reason::kDeviceError;
    return Verdict{harness ? CaseStatus::kError : CaseStatus::kFailed, check.reason,
                   check.name + ": " + check.message};
  };
  suite::Outputs first, second;
  if (!call.run(suite::kNanPoison, first) || !call.run(suite::kFinitePoison, second))
    return failure(*checks.first_failure());
  if (first != second) {
    return {CaseStatus::kFailed, Reason::kReadsUninitialised,
            "two calls on equal inputs differ: outputs or workspace held other bytes before"};
  }
  if (const auto known = judged_.find(second); known != judged_.end()) return known->second;
  suite::Judgement judgement =
      suite::judge_outputs(spec_, scene_->placed, scene_->inputs, platform_.catalog);
  for (suite::CheckResult& check : judgement.checks) checks.add(std::move(check));
  Verdict verdict;
  if (const suite::CheckResult* failed = checks.first_failure()) verdict = failure(*failed);
  judged_.emplace(std::move(second), verdict);
  return verdict;
}

}  // namespace kw::tune
