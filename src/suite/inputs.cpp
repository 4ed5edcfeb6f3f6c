// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/inputs.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/random.hpp"

namespace kw::suite {
namespace {

// Index of the operand that holds parameter `name`, of lists the first element; -1 without one.
int find_operand(const std::vector<Operand>& operands, const Contract& contract,
                 std::string_view name) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (contract.parameters[operands[i].parameter].name == name) return static_cast<int>(i);
  }
  return -1;
}

// Whether parameter `name` of a backward operation is an output of its forward.
bool is_saved_output(const Contract& forward, const Parameter& parameter,
                     std::string_view variant) {
  const int index = forward.find_parameter(parameter.name);
  if (index < 0) return false;
  const Parameter& output = forward.parameters[static_cast<std::size_t>(index)];
  return output.role == Role::kOutput && output.is_tensor() && output.in_variant(variant);
}

// The forward call whose outputs `backward` receives.
Problem forward_problem(const Contract& forward, const Problem& backward) {
  Problem problem = make_problem(forward, backward.variant_name());
  for (std::size_t i = 0; i < forward.parameters.size(); ++i) {
    const Parameter& parameter = forward.parameters[i];
    const int other = backward.contract->find_parameter(parameter.name);
    if (other < 0 || !parameter.in_variant(backward.variant_name())) continue;
    const ParameterValue& given = backward.values[static_cast<std::size_t>(other)];
    problem.values[i] = given;
    if (parameter.role == Role::kOutput) {
      if (!problem.values[i].list.empty())
        fail(Code::kUnsupported,
             "'{}' of {} is a list saved by its forward; the suite links single tensors only",
             parameter.name, backward.operation());
      problem.values[i].tensor.rank = -1;
    }
  }
  return dense(problem);
}

void link_saved_outputs(PlacedTensors& placed, const Problem& problem,
                        const std::vector<std::size_t>& linked, const Contract& forward,
                        const Catalog& catalog) {
  const Problem call = forward_problem(forward, problem);
  const std::vector<Operand> operands = operands_of(call);
  std::vector<std::vector<double>> inputs(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].is_read()) continue;
    const int source = find_operand(placed.operands(), *problem.contract,
                                    forward.parameters[operands[i].parameter].name);
    const std::size_t at =
        static_cast<std::size_t>(source) + static_cast<std::size_t>(std::max(operands[i].item, 0));
    inputs[i] = read_elements(placed[at].host_view());
  }
  std::vector<DenseTensor> results = Oracle(catalog).run(call, inputs);
  for (const std::size_t target : linked) {
    const std::string& name =
        problem.contract->parameters[placed.operands()[target].parameter].name;
    DenseTensor& result = results[static_cast<std::size_t>(find_operand(operands, forward, name))];
    write_elements(placed[target].host_view(), read_elements(result.view()));
  }
}

}  // namespace

const Operation* find_forward(const Catalog& catalog, std::string_view operation) noexcept {
  for (const Operation& candidate : catalog.operations()) {
    if (candidate.contract->backward == operation) return &candidate;
  }
  return nullptr;
}

PlacedTensors::PlacedTensors(runtime::Device& device, const Problem& problem, std::uint64_t key)
    : operands_(operands_of(problem)) {
  tensors_.reserve(operands_.size());
  for (const Operand& operand : operands_)
    tensors_.emplace_back(device, operand.spec, mix64(key ^ name_hash(operand.name)));
}

std::vector<TensorView> PlacedTensors::views() const {
  std::vector<TensorView> views;
  for (const GuardedTensor& tensor : tensors_) views.push_back(tensor.view());
  return views;
}

void fill_inputs(PlacedTensors& placed, const Problem& problem, Fill fill, std::uint64_t seed,
                 const Catalog& catalog) {
  const Operation* forward = find_forward(catalog, problem.operation());
  const bool batch_known = has_batch(problem);
  std::vector<std::size_t> linked;
  for (std::size_t i = 0; i < placed.operands().size(); ++i) {
    const Operand& operand = placed.operands()[i];
    if (!operand.is_read()) continue;
    const Parameter& parameter = problem.contract->parameters[operand.parameter];
    if (forward != nullptr &&
        is_saved_output(*forward->contract, parameter, problem.variant_name())) {
      linked.push_back(i);
      continue;
    }
    const std::string& content =
        operand.spec.content.empty() ? parameter.content : operand.spec.content;
    if (!content.empty()) {
      fail(Code::kUnsupported,
           "{}: '{}' needs contents of class '{}', which the suite cannot make yet",
           problem.label(), operand.name, content);
    }
    const bool has_rows = parameter.shape.batch || !batch_known;
    const Fill used = is_row_fill(fill) && !has_rows ? Fill::kNormal : fill;
    fill_tensor(placed[i].host_view(),
                {used, seed, operand.name, row_width(parameter, operand.spec),
                 has_rows ? batch_exponent(used) : 0});
  }
  if (!linked.empty()) link_saved_outputs(placed, problem, linked, *forward->contract, catalog);
}

std::vector<std::vector<double>> read_inputs(PlacedTensors& placed) {
  std::vector<std::vector<double>> inputs(placed.operands().size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (placed.operands()[i].is_read()) inputs[i] = read_elements(placed[i].host_view());
  }
  return inputs;
}

}  // namespace kw::suite
