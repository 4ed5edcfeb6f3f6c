// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/inputs.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/forward_link.hpp"
#include "kernelwright/suite/random.hpp"

namespace kw::suite {
PlacedTensors::PlacedTensors(runtime::Device& device, const Problem& problem, std::uint64_t key,
                             std::int64_t shift)
    : operands_(operands_of(problem)) {
  tensors_.reserve(operands_.size());
  for (const Operand& operand : operands_)
    tensors_.emplace_back(device, operand.spec, mix64(key ^ name_hash(operand.name)), shift);
}

std::vector<TensorView> PlacedTensors::views() const {
  std::vector<TensorView> views;
  for (const GuardedTensor& tensor : tensors_) views.push_back(tensor.view());
  return views;
}

std::vector<InputSource> input_sources(const std::vector<Operand>& operands, const Problem& problem,
                                       Fill fill, std::uint64_t seed, const Catalog& catalog) {
  const Operation* forward = find_forward(catalog, problem.operation());
  const auto& parameters = problem.contract->parameters;
  const bool any_rows = std::any_of(parameters.begin(), parameters.end(),
                                    [](const Parameter& p) { return p.shape.batch; });
  std::vector<InputSource> sources;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    if (!operand.is_read()) continue;
    const Parameter& parameter = parameters[operand.parameter];
    if (forward != nullptr &&
        is_saved_output(*forward->contract, parameter, problem.variant_name())) {
      sources.push_back({i, true, std::nullopt, {}});
      continue;
    }
    const bool has_rows = parameter.shape.batch || !any_rows;
    const Fill used = is_row_fill(fill) && !has_rows ? Fill::kNormal : fill;
    sources.push_back({i,
                       false,
                       content_text(problem, operand).empty()
                           ? std::nullopt
                           : std::optional(content_of(problem, operand)),
                       {used, seed, operand.name, row_width(parameter, operand.spec),
                        has_rows ? batch_exponent(used) : 0}});
  }
  return sources;
}

void fill_by_key(const TensorView& view, const InputSource& source) {
  if (source.content)
    fill_content(view, *source.content, source.key);
  else
    fill_tensor(view, source.key);
}

void fill_inputs(PlacedTensors& placed, const Problem& problem, Fill fill, std::uint64_t seed,
                 const Catalog& catalog) {
  std::vector<std::size_t> linked;
  for (const InputSource& source : input_sources(placed.operands(), problem, fill, seed, catalog)) {
    if (source.linked)
      linked.push_back(source.operand);
    else
      fill_by_key(placed[source.operand].host_view(), source);
  }
  if (linked.empty()) return;
  const Operation& forward = *find_forward(catalog, problem.operation());
  for (const SavedOutput& saved : run_forward(forward, problem, read_inputs(placed), catalog)) {
    for (const std::size_t i : linked) {
      if (placed.operands()[i].parameter != saved.parameter) continue;
      write_elements(placed[i].host_view(), read_elements(saved.tensor.view()));
    }
  }
}

void fill_inputs(PlacedTensors& placed, const Case& spec, const Catalog& catalog) {
  if (spec.recorded == nullptr)
    return fill_inputs(placed, spec.problem, spec.fill, spec.seed, catalog);
  for (std::size_t i = 0; i < placed.operands().size(); ++i) {
    const Operand& operand = placed.operands()[i];
    if (!operand.is_read()) continue;
    const auto recorded =
        std::find_if(spec.recorded->begin(), spec.recorded->end(), [&](const RecordedTensor& each) {
          return each.name == operand.name && each.dtype == operand.spec.dtype;
        });
    if (recorded == spec.recorded->end()) {
      fail(Code::kInvalidArgument, "the recording has no tensor '{}' of {}; the problem is {}",
           operand.name, dtype_name(operand.spec.dtype), problem_text(spec.problem));
    }
    placed[i].set_element_bytes(recorded->bytes);
  }
}

std::vector<std::vector<double>> read_inputs(PlacedTensors& placed) {
  std::vector<std::vector<double>> inputs(placed.operands().size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (placed.operands()[i].is_read()) inputs[i] = read_elements(placed[i].host_view());
  }
  return inputs;
}

}  // namespace kw::suite
