// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/problem.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"

namespace kw {

std::int64_t TensorSpec::numel() const noexcept {
  std::int64_t count = 1;
  for (const std::int64_t size : shape()) {
    if (size == kFreeDim) return kFreeDim;
    count *= size;
  }
  return count;
}

bool TensorSpec::has_free_dim() const noexcept {
  return std::find(sizes.begin(), sizes.begin() + rank, kFreeDim) != sizes.begin() + rank;
}

TensorSpec spec_of(const TensorView& view) {
  TensorSpec spec;
  if (!view.present()) return spec;
  spec.present = true;
  spec.dtype = view.dtype;
  spec.rank = view.rank;
  spec.sizes = view.sizes;
  spec.contiguous = view.contiguous();
  if (!spec.contiguous) spec.strides = view.strides;
  const auto address = reinterpret_cast<std::uintptr_t>(view.data);
  spec.align =
      address == 0 ? 16 : static_cast<int>(std::min<std::uintptr_t>(16, address & -address));
  return spec;
}

TensorView view_of(const TensorSpec& spec, void* data) {
  if (!spec.present) return {};
  if (spec.has_free_dim())
    fail(Code::kInvalidArgument,
         "a tensor with free dimensions ('?') has no memory layout; give every size");
  return spec.contiguous ? TensorView(data, spec.dtype, spec.shape())
                         : TensorView(data, spec.dtype, spec.shape(), spec.pitches());
}

const ParameterValue& Problem::value(std::string_view parameter) const {
  const Parameter& p = contract->parameter(parameter);
  return values[static_cast<std::size_t>(&p - contract->parameters.data())];
}

ParameterValue& Problem::value(std::string_view parameter) {
  return const_cast<ParameterValue&>(std::as_const(*this).value(parameter));
}

bool Problem::has(std::string_view parameter) const {
  const ParameterValue& v = value(parameter);
  return v.tensor.present || v.list_present || v.scalar_given;
}

double Problem::number(std::string_view parameter) const {
  const Parameter& p = contract->parameter(parameter);
  const ParameterValue& v = values[static_cast<std::size_t>(&p - contract->parameters.data())];
  if (v.scalar_given) return v.number;
  return p.computed_default != nullptr ? p.computed_default(*this) : p.default_value;
}

std::int64_t Problem::size(std::string_view symbol) const {
  if (const SymbolTable::Size* bound = symbols.size(symbol)) return bound->value;
  fail(Code::kInternal, "{}: the size symbol '{}' is not bound", label(), symbol);
}

DType Problem::dtype(std::string_view dtype_symbol) const {
  if (const SymbolTable::Type* bound = symbols.type(dtype_symbol)) return bound->dtype;
  fail(Code::kInternal, "{}: the dtype symbol '{}' is not bound", label(), dtype_symbol);
}

std::int64_t Problem::rows() const {
  std::int64_t product = 1;
  for (const std::int64_t size : symbols.batch) {
    if (size == kFreeDim) return kFreeDim;
    product *= size;
  }
  return product;
}

bool Problem::has_free_dims() const {
  return std::any_of(values.begin(), values.end(), [](const ParameterValue& v) {
    return (v.tensor.present && v.tensor.has_free_dim()) ||
           std::any_of(v.list.begin(), v.list.end(),
                       [](const TensorSpec& t) { return t.has_free_dim(); });
  });
}

Problem make_problem(const Contract& contract, std::string_view variant) {
  Problem problem;
  problem.contract = &contract;
  problem.variant = contract.variant_index(variant);
  problem.values.resize(contract.parameters.size());
  for (std::size_t i = 0; i < problem.values.size(); ++i)
    problem.values[i].number = contract.parameters[i].default_value;
  return problem;
}

namespace {

double spec_bytes(const TensorSpec& spec) {
  if (!spec.present) return 0;
  double count = static_cast<double>(dtype_bytes(spec.dtype));
  for (int i = 0; i < spec.rank; ++i) {
    const bool expanded = !spec.contiguous && spec.strides[static_cast<std::size_t>(i)] == 0;
    const std::int64_t size = spec.sizes[static_cast<std::size_t>(i)];
    count *= expanded && size > 0 ? 1.0 : static_cast<double>(size);
  }
  return count;
}

}  // namespace

double problem_bytes(const Problem& problem) {
  if (problem.has_free_dims()) return 0;
  if (problem.contract->bytes != nullptr) return problem.contract->bytes(problem);
  double total = 0;
  for (std::size_t i = 0; i < problem.values.size(); ++i) {
    const double passes =
        problem.contract->parameters[i].role == Role::kMutated ? 2 : 1;  // read and written
    total += passes * spec_bytes(problem.values[i].tensor);
    for (const TensorSpec& spec : problem.values[i].list) total += passes * spec_bytes(spec);
  }
  return total;
}

double problem_flops(const Problem& problem) {
  if (problem.contract->flops == nullptr || problem.has_free_dims()) return 0;
  return problem.contract->flops(problem);
}

}  // namespace kw
