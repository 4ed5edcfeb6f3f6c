// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/validate.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "kernelwright/suite/checked_call.hpp"
#include "kernelwright/suite/checks/page_guard.hpp"
#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/inputs.hpp"
#include "kernelwright/suite/judge.hpp"

namespace kw::suite {
namespace {

constexpr double kPagesBytes = 256e6, kPagesSeconds = 20;
constexpr std::uint64_t kReplaySeed = 0x9e3779b9;  // far from the seeds of neighbouring cases

class Validation {
 public:
  Validation(const Case& spec, Callable& callable, Scratch& scratch, runtime::Device& device,
             const Catalog& catalog, const ValidateOptions& options)
      : spec_(spec),
        problem_(spec.problem),
        callable_(callable),
        scratch_(scratch),
        device_(device),
        catalog_(catalog),
        options_(options),
        placed_(device, problem_, spec.seed) {}

  CaseResult run() {
    fill_inputs(placed_, spec_, catalog_);
    inputs_ = read_inputs(placed_);
    CheckedCall call(problem_, placed_, callable_, scratch_, device_, checks_);
    Outputs outputs;
    if (watch_pages() && compare_poisons(call, outputs)) {
      judge();
      if (!checks_.failed()) repeat(call, outputs);
      if (!checks_.failed()) replay();
      if (!checks_.failed() && options_.batch_invariant) compare_prefixes(outputs);
      if (!checks_.failed()) empty_call();
    }
    checks_.conclude(result_);
    return std::move(result_);
  }

 private:
  // On the host; of other devices: device_pages.hpp.
  bool watch_pages() {
    if (device_.hardware().kind != DeviceKind::kCpu || !callable_.survives_fork() ||
        !has_page_guards() || spec_.fill != Fill::kNormal || case_bytes(problem_) > kPagesBytes)
      return true;
    if (auto found = check_pages(problem_, placed_, callable_, kPagesSeconds)) {
      checks_.add(std::move(*found));
      return false;
    }
    checks_.pass("pages");
    return true;
  }

  // Two calls on different poisons. Elements that hold theirs in both were not written; others that
  // differ depend on memory that nobody initialised, or on chance, which a third call tells.
  bool compare_poisons(CheckedCall& call, Outputs& second) {
    Outputs first;
    if (!call.run(kNanPoison, first) || !call.run(kFinitePoison, second)) return false;
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (first[i] == second[i]) continue;
      const Operand& operand = placed_.operands()[i];
      const std::size_t bytes = dtype_bytes(operand.spec.dtype);
      const Difference found = difference(first[i], second[i], bytes);
      if (found.unwritten > 0) {
        checks_.reject("unwritten:" + operand.name, Reason::kUnwrittenOutput,
                       fmt::format("{} of {} elements were not written", found.unwritten,
                                   first[i].size() / bytes));
        return false;
      }
      Outputs third;
      if (!call.run(kNanPoison, third)) return false;
      if (third[i] == first[i]) {
        checks_.reject("poison:" + operand.name, Reason::kReadsUninitialised,
                       fmt::format("{} elements depend on what outputs or workspace held before; "
                                   "the first at index {}",
                                   found.elements, found.first));
        return false;
      }
      if (options_.deterministic) {
        checks_.reject("repeat:" + operand.name, Reason::kNondeterministic,
                       fmt::format("{} elements differ between equal calls; the first at index {}",
                                   found.elements, found.first));
        return false;
      }
      second = std::move(third);  // what the tensors hold now
    }
    checks_.pass("memory");
    return true;
  }

  void judge() {
    Judgement judgement = judge_outputs(spec_, placed_, inputs_, catalog_);
    result_.trust = judgement.trust;
    result_.outputs = std::move(judgement.outputs);
    for (CheckResult& check : judgement.checks) {
      if (!check.passed && left_alone(check.name)) {
        check.reason = Reason::kMissingMutation;
        check.message = "the call left it as it was; " + check.message;
      }
      checks_.add(std::move(check));
    }
  }

  // Whether "oracle:NAME" is about an operand that should have changed and did not.
  bool left_alone(std::string_view check) {
    for (std::size_t i = 0; i < placed_.operands().size(); ++i) {
      const Operand& operand = placed_.operands()[i];
      if (operand.role == Role::kMutated && check == "oracle:" + operand.name)
        return read_elements(placed_[i].host_view()) == inputs_[i];
    }
    return false;
  }

  // Two calls are behind us.
  void repeat(CheckedCall& call, const Outputs& expected) {
    if (!options_.deterministic) return;
    for (int run = 2; run < options_.repeats; ++run) {
      Outputs again;
      if (!call.run(run % 2 == 0 ? kNanPoison : kFinitePoison, again)) return;
      if (again == expected) continue;
      checks_.reject(
          "repeat", Reason::kNondeterministic,
          fmt::format("call {} of {} differs from the others", run + 1, options_.repeats));
      return;
    }
    checks_.pass("repeat");
  }

  // The captured call once more, on other inputs in the same memory: a graph that kept values of
  // its capture, or that hands out a result it made before, answers for the old ones.
  void replay() {
    if (!callable_.can_replay()) return;
    Case other = spec_;
    other.seed = spec_.seed + kReplaySeed;
    other.recorded = nullptr;
    fill_inputs(placed_, other, catalog_);
    const std::vector<std::vector<double>> inputs = read_inputs(placed_);
    Outputs outputs;
    if (!CheckedCall(problem_, placed_, callable_, scratch_, device_, checks_)
             .replay(kNanPoison, outputs))
      return;
    for (const CheckResult& check : judge_outputs(other, placed_, inputs, catalog_).checks) {
      if (check.passed || check.reason == Reason::kMistrustedOracle) continue;
      checks_.reject(
          "replay:" + check.name, Reason::kStaleReplay,
          "right when captured, wrong when replayed after its inputs changed in place: " +
              check.message);
      return;
    }
    checks_.pass("replay");
  }

  // The first rows of a smaller call must have the bits they have in the whole one.
  void compare_prefixes(const Outputs& expected) {
    const std::int64_t size = batch_size();
    // Around sizes at which implementations are known to change their ways.
    std::vector<std::int64_t> prefixes{1, 2, 63, 64, 65, 255, 256, 257, size / 2, size - 1};
    std::sort(prefixes.begin(), prefixes.end());
    prefixes.erase(std::unique(prefixes.begin(), prefixes.end()), prefixes.end());
    int compared = 0;
    for (const std::int64_t prefix : prefixes) {
      if (prefix < 1 || prefix >= size) continue;
      if (!callable_.accepts(batch_prefix(problem_, prefix))) continue;
      Outputs outputs;
      if (!run_prefix(prefix, outputs)) return;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const Operand& operand = placed_.operands()[i];
        if (!operand.is_written() || !in_batch(operand)) continue;
        if (std::equal(outputs[i].begin(), outputs[i].end(), expected[i].begin())) continue;
        checks_.reject(
            "batch:" + operand.name, Reason::kBatchVariant,
            fmt::format("the first {} of {} have other bits when computed alone", prefix, size));
        return;
      }
      ++compared;
    }
    if (compared > 0) checks_.pass("batch");
  }

  // No rows: nothing to write in batched outputs; sums over rows are what the oracle says.
  void empty_call() {
    if (batch_size() == 0 || !callable_.accepts(batch_prefix(problem_, 0))) return;
    Outputs outputs;
    if (!run_prefix(0, outputs)) return;
    const Problem wide = in_f64(batch_prefix(problem_, 0));
    const std::vector<Operand> operands = operands_of(wide);
    std::vector<std::vector<double>> inputs(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].is_read() && !in_batch(operands[i])) inputs[i] = inputs_[i];
    }
    std::vector<DenseTensor> expected = Oracle(catalog_).run(wide, inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Operand& operand = operands[i];
      if (!operand.is_written() || in_batch(operand)) continue;
      const TensorView got(outputs[i].data(), placed_.operands()[i].spec.dtype,
                           operand.spec.shape());
      const std::vector<double> values = read_elements(got);
      if (std::equal(values.begin(), values.end(), expected[i].values().begin())) continue;
      checks_.reject("empty:" + operand.name, Reason::kNumericMismatch,
                     "a call with no rows leaves a wrong value");
      return;
    }
    checks_.pass("empty");
  }

  // A call on the first `size` slices, in memory of its own.
  bool run_prefix(std::int64_t size, Outputs& outputs) {
    const Problem problem = batch_prefix(problem_, size);
    PlacedTensors placed(device_, problem, spec_.seed + 1);
    for (std::size_t i = 0; i < placed.operands().size(); ++i) {
      if (!placed.operands()[i].is_read()) continue;
      const auto count = static_cast<std::ptrdiff_t>(placed.operands()[i].spec.numel());
      write_elements(placed[i].host_view(), {inputs_[i].begin(), inputs_[i].begin() + count});
    }
    return CheckedCall(problem, placed, callable_, scratch_, device_, checks_)
        .run(kNanPoison, outputs);
  }

  bool in_batch(const Operand& operand) const {
    return problem_.contract->parameters[operand.parameter].shape.batch;
  }
  // 0 without a batch dimension.
  std::int64_t batch_size() const {
    return problem_.symbols.batch.empty() ? 0 : problem_.symbols.batch.front();
  }

  const Case& spec_;
  const Problem& problem_;
  Callable& callable_;
  Scratch& scratch_;
  runtime::Device& device_;
  const Catalog& catalog_;
  const ValidateOptions& options_;
  PlacedTensors placed_;
  std::vector<std::vector<double>> inputs_;  // per operand, in logical order
  CheckList checks_;
  CaseResult result_;
};

}  // namespace

double case_bytes(const Problem& problem) {
  double bytes = 0;
  for (const Operand& operand : operands_of(problem)) {
    const auto elements = static_cast<double>(operand.spec.numel());
    // Storage, its copies, and doubles: input, oracle's copy, exact result, sensitivity.
    bytes += elements * (3.0 * static_cast<double>(dtype_bytes(operand.spec.dtype)) + 8 * 4);
  }
  return bytes;
}

CaseResult validate(const Case& spec, Callable& callable, Scratch& scratch, runtime::Device& device,
                    const Catalog& catalog, const ValidateOptions& options) {
  return Validation(spec, callable, scratch, device, catalog, options).run();
}

}  // namespace kw::suite
