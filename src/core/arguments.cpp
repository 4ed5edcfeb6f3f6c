// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/arguments.hpp"

#include <optional>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/core/field_access.hpp"

namespace kw {
namespace {

const CallStep& step_of(const Contract& contract, const Parameter& p) noexcept {
  return contract.call_steps[static_cast<std::size_t>(&p - contract.parameters.data())];
}

}  // namespace

Problem problem_from_args(const Contract& contract, int variant, const void* args) {
  Problem problem;
  problem.contract = &contract;
  problem.variant = variant;
  problem.values.resize(contract.parameters.size());
  for (std::size_t i = 0; i < problem.values.size(); ++i) {
    const Parameter& p = contract.parameters[i];
    ParameterValue& value = problem.values[i];
    if (p.kind == Kind::kTensor) {
      value.tensor = spec_of(field_at<TensorView>(args, p.offset));
    } else if (p.kind == Kind::kTensorList) {
      const auto& list = field_at<TensorList>(args, p.offset);
      value.list_present = list.data != nullptr;
      for (std::int64_t j = 0; value.list_present && j < list.size; ++j)
        value.list.push_back(spec_of(list.data[j]));
    } else {
      const std::optional<double> scalar = scalar_at(args, step_of(contract, p));
      value.number = scalar.value_or(p.default_value);
      // A scalar that this variant does not have is not "given" by being a field of Args.
      value.scalar_given = scalar.has_value() && (p.is_optional || *scalar != p.default_value);
    }
  }
  return problem;
}

void check_call(const Contract& contract, int variant, const void* args) {
  const std::string label =
      contract.operation + "/" + contract.variants[static_cast<std::size_t>(variant)].name;
  struct Written {
    std::string name;
    const Parameter* parameter;
    TensorView view;
  };
  std::vector<Written> views;
  const auto is_needed = [&](const Parameter& p) {
    return p.role == Role::kOutput && !p.is_optional &&
           p.in_variant(contract.variants[static_cast<std::size_t>(variant)].name);
  };
  const auto missing = [&](const std::string& name, const Parameter& p) {
    fail(Code::kInvalidArgument,
         "{}: output '{}' is missing; the caller supplies every output: {} {}", label, name,
         dtype_rule_text(p.dtype), shape_text(p.shape));
  };
  for (const Parameter& p : contract.parameters) {
    if (p.is_scalar()) {
      const std::optional<double> value = scalar_at(args, step_of(contract, p));
      if (value && !(*value >= p.low && *value <= p.high)) {
        fail(Code::kInvalidArgument, "{}: '{}' is {}; its range is {} to {}", label, p.name,
             number_text(*value), number_text(p.low), number_text(p.high));
      }
    } else if (p.kind == Kind::kTensorList) {
      const auto& list = field_at<TensorList>(args, p.offset);
      if (list.data == nullptr && is_needed(p)) missing(p.name, p);
      for (std::int64_t k = 0; list.data != nullptr && k < list.size; ++k)
        views.push_back({p.name + "[" + std::to_string(k) + "]", &p, list.data[k]});
    } else {
      views.push_back({p.name, &p, field_at<TensorView>(args, p.offset)});
    }
  }
  for (const Written& view : views) {
    const Parameter& p = *view.parameter;
    if (!view.view.present()) {
      if (is_needed(p)) missing(view.name, p);
      continue;
    }
    for (const std::int64_t size : view.view.shape()) {
      if (size < 0)
        fail(Code::kInvalidArgument, "{}: '{}' has the negative size {}", label, view.name, size);
    }
    if (view.view.data == nullptr && view.view.numel() != 0) {
      fail(Code::kInvalidArgument, "{}: '{}' has a shape but a null address", label, view.name);
    }
  }
  for (const Written& a : views) {
    if (a.parameter->role == Role::kInput) continue;
    for (const Written& b : views) {
      if (&a == &b || !may_overlap(a.view, b.view)) continue;
      const bool declared =
          a.parameter->alias_of == b.parameter->name || b.parameter->alias_of == a.parameter->name;
      if (declared && is_same_tensor(a.view, b.view)) continue;
      fail(Code::kInvalidArgument, "{}: '{}' shares memory with '{}'; give it memory of its own{}",
           label, a.name, b.name,
           a.parameter->alias_of.empty()
               ? ""
               : " (it may only be the same tensor as '" + a.parameter->alias_of + "')");
    }
  }
}

Arguments::Arguments(const Contract& contract)
    : contract_(contract), storage_(new std::byte[contract.args.size]) {
  contract_.args.construct(storage_.get());
}

Arguments::~Arguments() { contract_.args.destroy(storage_.get()); }

void Arguments::set_tensor(const Parameter& parameter, const TensorView& view) {
  field_at<TensorView>(data(), parameter.offset) = view;
}

void Arguments::set_list(const Parameter& parameter, std::vector<TensorView> views) {
  const auto& kept = lists_.emplace_back(std::move(views));
  // A list with no elements is present all the same: its address is not null.
  static const TensorView none;
  field_at<TensorList>(data(), parameter.offset) = {kept.empty() ? &none : kept.data(),
                                                    static_cast<std::int64_t>(kept.size())};
}

void Arguments::set_number(const Parameter& parameter, double value) {
  switch (parameter.kind) {
    case Kind::kBool:
      field_at<bool>(data(), parameter.offset) = value != 0;
      return;
    case Kind::kEnum:
      field_at<int>(data(), parameter.offset) = static_cast<int>(value);
      return;
    case Kind::kInt:
      if (parameter.is_optional)
        field_at<std::optional<std::int64_t>>(data(), parameter.offset) =
            static_cast<std::int64_t>(value);
      else
        field_at<std::int64_t>(data(), parameter.offset) = static_cast<std::int64_t>(value);
      return;
    case Kind::kFloat:
      if (parameter.is_optional)
        field_at<std::optional<double>>(data(), parameter.offset) = value;
      else
        field_at<double>(data(), parameter.offset) = value;
      return;
    default:
      fail(Code::kInternal, "{}: '{}' is not a scalar", contract_.operation, parameter.name);
  }
}

void Arguments::set_scalars(const Problem& problem) {
  for (std::size_t i = 0; i < problem.values.size(); ++i) {
    const Parameter& p = contract_.parameters[i];
    if (p.is_scalar() && problem.values[i].scalar_given) set_number(p, problem.values[i].number);
  }
}

}  // namespace kw
