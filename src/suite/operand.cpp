// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/operand.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"

namespace kw::suite {
namespace {

bool has_batch(const Parameter& parameter, int rank) {
  return parameter.shape.batch && rank > static_cast<int>(parameter.shape.dims.size());
}

template <typename Visit>
void each_spec(Problem& problem, Visit visit) {
  for (std::size_t i = 0; i < problem.values.size(); ++i) {
    const Parameter& parameter = problem.contract->parameters[i];
    ParameterValue& value = problem.values[i];
    if (value.tensor.present) visit(parameter, value.tensor);
    for (TensorSpec& spec : value.list) visit(parameter, spec);
  }
}

}  // namespace

std::vector<Operand> operands_of(const Problem& problem) {
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < problem.values.size(); ++i) {
    const Parameter& parameter = problem.contract->parameters[i];
    const ParameterValue& value = problem.values[i];
    if (value.tensor.present)
      operands.push_back({i, -1, parameter.name, value.tensor, parameter.role});
    for (std::size_t j = 0; j < value.list.size(); ++j) {
      operands.push_back({i, static_cast<int>(j), parameter.name + "[" + std::to_string(j) + "]",
                          value.list[j], parameter.role});
    }
  }
  return operands;
}

std::unique_ptr<Arguments> make_arguments(const Problem& problem,
                                          std::span<const TensorView> views) {
  const Contract& contract = *problem.contract;
  auto arguments = std::make_unique<Arguments>(contract);
  arguments->set_scalars(problem);
  std::size_t next = 0;
  for (std::size_t i = 0; i < problem.values.size(); ++i) {
    const ParameterValue& value = problem.values[i];
    if (value.tensor.present) arguments->set_tensor(contract.parameters[i], views[next++]);
    if (value.list_present) {
      std::vector<TensorView> list(
          views.begin() + static_cast<std::ptrdiff_t>(next),
          views.begin() + static_cast<std::ptrdiff_t>(next + value.list.size()));
      next += value.list.size();
      arguments->set_list(contract.parameters[i], std::move(list));
    }
  }
  return arguments;
}

std::int64_t row_width(const Parameter& parameter, const TensorSpec& spec) {
  const std::size_t fixed = parameter.shape.dims.size();
  std::int64_t width = 1;
  for (std::size_t d = static_cast<std::size_t>(spec.rank) - fixed;
       d < static_cast<std::size_t>(spec.rank); ++d) {
    width *= spec.sizes[d];
  }
  return width;
}

bool has_batch(const Problem& problem) {
  for (const Operand& operand : operands_of(problem)) {
    if (has_batch(problem.contract->parameters[operand.parameter], operand.spec.rank)) return true;
  }
  return false;
}

Problem batch_prefix(const Problem& problem, std::int64_t size) {
  Problem prefix = problem;
  each_spec(prefix, [&](const Parameter& parameter, TensorSpec& spec) {
    if (!has_batch(parameter, spec.rank)) return;
    spec.sizes[0] = size;
    if (spec.contiguous) return;
    // A single slice of a strided tensor may be contiguous; the problem's text must say so.
    spec.contiguous = view_of(spec, nullptr).contiguous();
    if (spec.contiguous) spec.strides = {};
  });
  check(prefix);
  return prefix;
}

Problem with_free_dims(const Problem& problem, std::int64_t size) {
  Problem sized = problem;
  each_spec(sized, [&](const Parameter& parameter, TensorSpec& spec) {
    std::replace(spec.sizes.begin(), spec.sizes.begin() + spec.rank, kFreeDim, size);
    // An output's may be twice that; check() knows.
    const bool inferred = parameter.role == Role::kOutput && parameter.kind == Kind::kTensor;
    if (inferred && spec.contiguous) spec.rank = -1;
  });
  check(sized);
  return sized;
}

Problem dense(const Problem& problem) {
  Problem packed = problem;
  each_spec(packed, [](const Parameter& parameter, TensorSpec& spec) {
    spec.contiguous = true;
    spec.strides = {};
    spec.align = 16;
    if (parameter.role == Role::kOutput && parameter.kind == Kind::kTensor) spec.rank = -1;
  });
  for (std::size_t i = 0; i < packed.values.size(); ++i) {
    const Parameter& parameter = packed.contract->parameters[i];
    if (parameter.role == Role::kOutput && parameter.kind == Kind::kTensorList &&
        packed.values[i].list_present) {
      for (TensorSpec& spec : packed.values[i].list) spec.contiguous = true;
    }
  }
  check(packed);
  return packed;
}

std::string type_signature(const Problem& problem) {
  std::string signature = problem.variant_name();
  for (const ParameterValue& value : problem.values) {
    signature += ' ';
    if (value.tensor.present) signature += dtype_name(value.tensor.dtype);
  }
  return signature;
}

}  // namespace kw::suite
