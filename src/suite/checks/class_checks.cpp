// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/checks/class_checks.hpp"

#include <thread>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/judge.hpp"

namespace kw::suite {
namespace {

constexpr std::uint64_t kFreshSeed = 0x51ed27;  // far from the seeds of neighbouring cases

}  // namespace

ClassChecks::ClassChecks(const Case& spec, Callable& callable, const Platform& platform,
                         const ValidateOptions& options, CheckList& checks)
    : spec_(spec),
      problem_(spec.problem),
      callable_(callable),
      platform_(platform),
      device_(platform.device),
      options_(options),
      checks_(checks) {}

// An earlier finding explains later ones: streams first, as work that escapes shows as anything
// else where it happens to be late, and the lifetime of arguments before what reuses them; threads
// before graphs, as a plan that keeps arguments spoils both; a capture before the first launch as
// one.
const std::vector<ClassChecks::Entry>& ClassChecks::table() {
  static const std::vector<Entry> entries{
      {"oracle", false, &ClassChecks::oracle},
      {"decisions", false, &ClassChecks::decisions},
      {"stream", true, &ClassChecks::stream},
      {"lifetime", true, &ClassChecks::lifetime},
      {"busy_default_stream", true, &ClassChecks::busy_default_stream},
      {"fresh", false, &ClassChecks::fresh},
      {"placement", false, &ClassChecks::placement},
      {"rows", false, &ClassChecks::rows},
      {"late_producers", true, &ClassChecks::late_producers},
      {"threads", false, &ClassChecks::threads},
      {"capture", true, &ClassChecks::capture},
      {"graph_of_many", true, &ClassChecks::graph_of_many},
      {"interleaved_graphs", true, &ClassChecks::interleaved_graphs},
      {"lazy_state", true, &ClassChecks::lazy_state},
      {"second_device", false, &ClassChecks::second_device},
      {"wrong_arguments", false, &ClassChecks::wrong_arguments},
      {"soak", false, &ClassChecks::soak},
  };
  return entries;
}

void ClassChecks::run() {
  for (const Entry& entry : table()) {
    if (entry.asynchronous && !device_.is_asynchronous()) continue;
    try {
      callable_.prepare(problem_);
      (this->*entry.run)();
    } catch (const Error& error) {
      const bool harness = error.code() == Code::kEnvironment || error.code() == Code::kInternal;
      reject(entry.name, harness ? Reason::kDeviceError : Reason::kRejectedValid, error.what());
    }
    if (checks_.failed()) return;
  }
}

Case ClassChecks::fresh_case(std::size_t i) const {
  return {problem_, spec_.fill, spec_.seed + i * kFreshSeed};
}

CallSet& ClassChecks::set(std::size_t i) {
  if (sets_.size() <= i) sets_.resize(i + 1);
  if (sets_[i] == nullptr)
    sets_[i] = std::make_unique<CallSet>(device_, fresh_case(i), platform_.catalog);
  return *sets_[i];
}

Outputs ClassChecks::call(std::size_t i) {
  CallSet& calls = set(i);
  calls.produce(nullptr);
  throw_if_failed(callable_.call_on(calls.arguments(), nullptr));
  device_.synchronize(nullptr);
  return calls.current();
}

// Inputs are there before the call and outputs after it, also where it works on another stream:
// that is for the checks to find, not to spoil what they compare with.
const Outputs& ClassChecks::expected(std::size_t i) {
  if (expected_.size() <= i) expected_.resize(i + 1);
  if (!expected_[i].empty()) return expected_[i];
  CallSet& calls = set(i);
  calls.produce(nullptr);
  device_.synchronize(nullptr);
  throw_if_failed(callable_.call_on(calls.arguments(), nullptr));
  settle();
  return expected_[i] = calls.current();
}

void ClassChecks::settle() {
  device_.synchronize(nullptr);
  if (!device_.is_asynchronous()) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  device_.synchronize(nullptr);
}

std::optional<std::string> ClassChecks::wrong_values(std::size_t i, const Outputs& outputs) {
  CallSet& calls = set(i);
  PlacedTensors& aside = calls.aside();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!aside.operands()[o].is_written()) continue;
    const TensorSpec& spec = aside.operands()[o].spec;
    // Elements in logical order, as a packed tensor has them.
    const TensorView packed(const_cast<std::byte*>(outputs[o].data()), spec.dtype, spec.shape());
    write_elements(aside[o].host_view(), read_elements(packed));
  }
  const Judgement judgement =
      judge_outputs(fresh_case(i), aside, read_inputs(calls.source()), platform_.catalog);
  for (const CheckResult& check : judgement.checks) {
    if (!check.passed && check.reason != Reason::kMistrustedOracle)
      return check.name + ": " + check.message;
  }
  return std::nullopt;
}

bool ClassChecks::right(std::size_t i, const Outputs& outputs) {
  if (options_.deterministic) return outputs == expected(i);
  return !wrong_values(i, outputs);
}

double class_check_bytes(const Problem& problem) {
  double bytes = 0;
  for (const Operand& operand : operands_of(problem)) {
    const auto range = view_of(operand.spec, nullptr).byte_range();
    // Two sets of three, and up to 64 outputs.
    bytes += static_cast<double>(range.end - range.begin) * (operand.is_written() ? 70 : 6);
  }
  return bytes;
}

}  // namespace kw::suite
