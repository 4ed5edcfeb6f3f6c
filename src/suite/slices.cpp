// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/slices.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "kernelwright/suite/content.hpp"
#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/forward_link.hpp"

namespace kw::suite {

std::string why_whole(const Problem& problem, const Catalog& catalog) {
  if (!has_batch(problem)) return "it has no batch dimension";
  const Operation* forward = find_forward(catalog, problem.operation());
  for (const Operand& operand : operands_of(problem)) {
    const Parameter& parameter = problem.contract->parameters[operand.parameter];
    if (operand.role == Role::kMutated)
      return fmt::format("the call changes its input '{}'", operand.name);
    if (!content_text(problem, operand).empty())
      return fmt::format("the values of '{}' depend on one another", operand.name);
    if (operand.is_read() && !operand.spec.contiguous &&
        self_overlaps(view_of(operand.spec, nullptr)))
      return fmt::format("elements of '{}' share memory", operand.name);
    if (forward != nullptr && !parameter.shape.batch &&
        is_saved_output(*forward->contract, parameter, problem.variant_name()))
      return fmt::format("the saved input '{}' depends on all slices", operand.name);
  }
  return "";
}

std::int64_t slice_count(const Problem& problem) {
  return problem.symbols.batch.empty() ? 0 : problem.symbols.batch.front();
}

bool is_sliced(const Problem& problem, const Operand& operand) {
  return problem.contract->parameters[operand.parameter].shape.batch;
}

Problem slice_problem(const Problem& problem, std::int64_t count) {
  return batch_prefix(dense(problem), count);
}

std::vector<std::vector<double>> slice_inputs(const Case& spec,
                                              std::span<const std::int64_t> slices,
                                              const Catalog& catalog) {
  const auto count = static_cast<std::int64_t>(slices.size());
  const Problem cut = slice_problem(spec.problem, count);
  const std::vector<Operand> operands = operands_of(spec.problem);
  std::vector<std::vector<double>> values(operands.size());
  std::vector<std::size_t> linked;
  for (const InputSource& source :
       input_sources(operands, spec.problem, spec.fill, spec.seed, catalog)) {
    const TensorSpec& whole = operands[source.operand].spec;
    if (source.linked) {
      linked.push_back(source.operand);
      continue;
    }
    const std::int64_t numel = whole.numel();
    const bool sliced = is_sliced(spec.problem, operands[source.operand]);
    const std::int64_t parts = sliced ? count : 1;
    const std::int64_t part = sliced ? numel / slice_count(spec.problem) : numel;
    std::vector<double>& out = values[source.operand];
    out.resize(static_cast<std::size_t>(parts * part));
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < parts; ++i) {
      const std::int64_t begin = sliced ? slices[static_cast<std::size_t>(i)] * part : 0;
      fill_values(whole.dtype, source.key, numel, begin, part, out.data() + i * part);
    }
  }
  if (linked.empty()) return values;
  const Operation& forward = *find_forward(catalog, spec.problem.operation());
  for (const SavedOutput& saved : run_forward(forward, cut, values, catalog)) {
    for (const std::size_t i : linked) {
      if (operands[i].parameter == saved.parameter) values[i] = read_elements(saved.tensor.view());
    }
  }
  // The forward's reference may save a wider type than the backward takes.
  for (const std::size_t i : linked)
    round_all(operands[i].spec.dtype, values[i].data(),
              static_cast<std::int64_t>(values[i].size()));
  return values;
}

TensorView slice_of(const TensorView& view, std::int64_t slice) {
  TensorView part = view;
  part.sizes[0] = 1;
  part.data = static_cast<std::byte*>(view.data) +
              slice * view.strides[0] * static_cast<std::int64_t>(dtype_bytes(view.dtype));
  return part;
}

}  // namespace kw::suite
