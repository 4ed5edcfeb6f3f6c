// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/forward_link.hpp"

#include "kernelwright/base/fail.hpp"

namespace kw::suite {
namespace {

// The forward call whose outputs `backward` receives.
Problem saving_forward(const Contract& forward, const Problem& backward) {
  Problem problem = make_problem(forward, backward.variant_name());
  for (std::size_t i = 0; i < forward.parameters.size(); ++i) {
    const Parameter& parameter = forward.parameters[i];
    const int other = backward.contract->find_parameter(parameter.name);
    if (other < 0 || !parameter.in_variant(backward.variant_name())) continue;
    if (parameter.role != Role::kOutput) {
      problem.values[i] = backward.values[static_cast<std::size_t>(other)];
    } else if (parameter.kind == Kind::kTensorList) {
      fail(Code::kUnsupported,
           "'{}' of {} is a list saved by its forward; the suite links single tensors only",
           parameter.name, backward.operation());
    } else {
      problem.values[i].tensor.present = true;
      problem.values[i].tensor.rank = -1;
    }
  }
  return dense(problem);
}

}  // namespace

Problem main_forward(const Contract& forward, const Problem& backward) {
  Problem problem = make_problem(forward, backward.variant_name());
  for (std::size_t i = 0; i < forward.parameters.size(); ++i) {
    const Parameter& parameter = forward.parameters[i];
    if (!parameter.in_variant(backward.variant_name())) continue;
    const int other = backward.contract->find_parameter(parameter.name);
    if (parameter.role == Role::kOutput) {
      problem.values[i].tensor.present = !parameter.is_optional;
      problem.values[i].tensor.rank = -1;
    } else if (other >= 0) {
      problem.values[i] = backward.values[static_cast<std::size_t>(other)];
    }
  }
  return dense(problem);
}

const Operation* find_forward(const Catalog& catalog, std::string_view operation) noexcept {
  for (const Operation& candidate : catalog.operations()) {
    if (candidate.contract->backward == operation) return &candidate;
  }
  return nullptr;
}

bool is_saved_output(const Contract& forward, const Parameter& parameter,
                     std::string_view variant) {
  const int index = forward.find_parameter(parameter.name);
  if (index < 0 || parameter.role != Role::kInput) return false;
  const Parameter& output = forward.parameters[static_cast<std::size_t>(index)];
  return output.role == Role::kOutput && output.is_tensor() && output.in_variant(variant);
}

std::vector<SavedOutput> run_forward(const Operation& forward, const Problem& backward,
                                     std::span<const std::vector<double>> inputs,
                                     const Catalog& catalog) {
  const Problem call = saving_forward(*forward.contract, backward);
  const std::vector<Operand> operands = operands_of(call), given = operands_of(backward);
  std::vector<std::vector<double>> values(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    for (std::size_t j = 0; j < given.size(); ++j) {
      if (operands[i].is_read() && given[j].name == operands[i].name) values[i] = inputs[j];
    }
  }
  std::vector<DenseTensor> results = Oracle(catalog).run(call, values);
  std::vector<SavedOutput> saved;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const int parameter = backward.contract->find_parameter(operands[i].name);
    if (operands[i].role != Role::kOutput || parameter < 0) continue;
    const auto index = static_cast<std::size_t>(parameter);
    if (!is_saved_output(*forward.contract, backward.contract->parameters[index],
                         backward.variant_name()))
      continue;
    saved.push_back({index, std::move(results[i])});
  }
  return saved;
}

}  // namespace kw::suite
