// SPDX-License-Identifier: Apache-2.0
// Whether wrong calls are refused before anything happens.
#include "kernelwright/suite/checks/class_checks.hpp"

namespace kw::suite {
namespace {

struct WrongCall {
  std::string what;
  std::vector<TensorView> views;
};

// Calls that contradict every contract: derived from a right one, a tensor at a time.
std::vector<WrongCall> wrong_calls(const Problem& problem, PlacedTensors& placed) {
  std::vector<WrongCall> calls;
  const std::vector<TensorView> right = placed.views();
  const auto& operands = placed.operands();
  const auto add = [&](std::size_t i, const std::string& what, const TensorView& view) {
    calls.push_back({operands[i].name + " " + what, right});
    calls.back().views[i] = view;
  };
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (right[i].numel() == 0) continue;
    TensorView null = right[i];
    null.data = nullptr;
    add(i, "at a null address", null);
    if (operands[i].role != Role::kOutput) continue;
    TensorView wide = right[i];
    if (wide.rank > 0) {
      ++wide.sizes[static_cast<std::size_t>(wide.rank) - 1];
      add(i, "one element wider than its shape", wide);
    }
    TensorView typed = right[i];
    typed.dtype = is_float(typed.dtype) ? DType::kI32 : DType::kF32;
    add(i, "of another dtype", typed);
    const Parameter& parameter = problem.contract->parameters[operands[i].parameter];
    for (std::size_t input = 0; input < operands.size(); ++input) {
      if (operands[input].role != Role::kInput || right[input].numel() == 0 ||
          parameter.alias_of == problem.contract->parameters[operands[input].parameter].name)
        continue;
      TensorView over = right[i];
      over.data = right[input].data;
      add(i, "over " + operands[input].name, over);
      break;
    }
  }
  return calls;
}

}  // namespace

void ClassChecks::wrong_arguments() {
  if (!callable_.validates()) return;
  expected(0);
  CallSet& calls = set(0);
  for (const WrongCall& wrong : wrong_calls(problem_, calls.target())) {
    calls.produce(nullptr);
    device_.synchronize(nullptr);
    const Outputs before = calls.current();
    const auto arguments = make_arguments(problem_, wrong.views);
    const Status status = callable_.call_on(*arguments, nullptr);
    device_.synchronize(nullptr);
    if (status)
      return reject("wrong_arguments", Reason::kAcceptedInvalid, "accepted: " + wrong.what);
    if (status.code == StatusCode::kDevice) {
      return reject("wrong_arguments", Reason::kDamagedOnError,
                    wrong.what + " reached the device: " + last_message());
    }
    const Outputs after = calls.current();
    const auto damage = calls.damage();
    if (after != before || damage) {
      return reject("wrong_arguments", Reason::kDamagedOnError,
                    wrong.what + ": refused, but memory had changed" +
                        (damage ? ": " + *damage : std::string()));
    }
  }
  if (!right(0, call(0)))
    return reject("wrong_arguments", Reason::kDamagedOnError, "wrong after calls were refused");
  pass("wrong_arguments");
}

}  // namespace kw::suite
