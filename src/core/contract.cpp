// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/contract.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"

namespace kw {

bool Parameter::in_variant(std::string_view variant) const noexcept {
  return variants.empty() || std::find(variants.begin(), variants.end(), variant) != variants.end();
}

Parameter& Recorder::add(const char* name, const void* field, Role role, Kind kind,
                         const char* help) {
  const auto* at = static_cast<const std::byte*>(field);
  if (at < base_ || at >= base_ + size_) {
    fail(Code::kInternal, "parameter '{}' is recorded with a field outside its Args object", name);
  }
  Parameter parameter;
  parameter.name = name;
  parameter.help = help;
  parameter.role = role;
  parameter.kind = kind;
  parameter.offset = static_cast<std::size_t>(at - base_);
  // visit() keeps the reference only while it chains setters, before the next row is added.
  return parameters_.emplace_back(std::move(parameter));
}

Parameter& Recorder::add_tensor(const char* name, const void* field, Role role, Kind kind,
                                const char* shape, const char* dtype, const char* help) {
  Parameter& parameter = add(name, field, role, kind, help);
  parameter.shape = parse_shape(shape);
  parameter.dtype = parse_dtype_rule(dtype);
  return parameter;
}

Parameter& Recorder::input(const char* name, const TensorView& field, const char* shape,
                           const char* dtype, const char* help) {
  return add_tensor(name, &field, Role::kInput, Kind::kTensor, shape, dtype, help);
}
Parameter& Recorder::input(const char* name, const TensorList& field, const char* shape,
                           const char* dtype, const char* help) {
  return add_tensor(name, &field, Role::kInput, Kind::kTensorList, shape, dtype, help);
}
Parameter& Recorder::mutated(const char* name, const TensorView& field, const char* shape,
                             const char* dtype, const char* help) {
  return add_tensor(name, &field, Role::kMutated, Kind::kTensor, shape, dtype, help);
}
Parameter& Recorder::output(const char* name, const TensorView& field, const char* shape,
                            const char* dtype, const char* help) {
  return add_tensor(name, &field, Role::kOutput, Kind::kTensor, shape, dtype, help);
}
Parameter& Recorder::output(const char* name, const TensorList& field, const char* shape,
                            const char* dtype, const char* help) {
  return add_tensor(name, &field, Role::kOutput, Kind::kTensorList, shape, dtype, help);
}

Parameter& Recorder::scalar(const char* name, const double& field, const char* help) {
  Parameter& parameter = add(name, &field, Role::kScalar, Kind::kFloat, help);
  parameter.default_value = field;
  return parameter;
}
Parameter& Recorder::scalar(const char* name, const std::int64_t& field, const char* help) {
  Parameter& parameter = add(name, &field, Role::kScalar, Kind::kInt, help);
  parameter.default_value = static_cast<double>(field);
  return parameter;
}
Parameter& Recorder::scalar(const char* name, const bool& field, const char* help) {
  Parameter& parameter = add(name, &field, Role::kScalar, Kind::kBool, help).static_value();
  parameter.default_value = field ? 1 : 0;
  return parameter;
}
Parameter& Recorder::scalar(const char* name, const std::optional<double>& field,
                            const char* help) {
  Parameter& parameter = add(name, &field, Role::kScalar, Kind::kFloat, help).optional();
  parameter.is_optional_field = true;
  return parameter;
}
Parameter& Recorder::scalar(const char* name, const std::optional<std::int64_t>& field,
                            const char* help) {
  Parameter& parameter = add(name, &field, Role::kScalar, Kind::kInt, help).optional();
  parameter.is_optional_field = true;
  return parameter;
}

Parameter& Recorder::choice_at(const char* name, const void* field, int value,
                               std::initializer_list<const char*> choices, const char* help) {
  Parameter& parameter = add(name, field, Role::kScalar, Kind::kEnum, help).static_value();
  parameter.choices.assign(choices.begin(), choices.end());
  parameter.default_value = value;
  return parameter.range(0, static_cast<double>(choices.size()) - 1);
}

Symbol& Recorder::symbol(const char* name, Variability variability, std::int64_t low,
                         std::int64_t high, const char* help) {
  return symbols_.emplace_back(Symbol{name, help, variability, low, high});
}

Contract::Contract(ContractInfo info, ArgsType args_type, Recorder&& recorder)
    : ContractInfo(std::move(info)),
      parameters(recorder.take_parameters()),
      symbols(recorder.take_symbols()),
      args(args_type) {
  if (field.name.empty()) field.name = operation + "_implementation";
  validate();
  for (const Parameter& p : parameters) {
    call_steps.push_back(
        {p.low, p.high, static_cast<std::uint32_t>(p.offset), p.kind, p.role,
         p.is_scalar() && (p.variability == Variability::kStatic || p.kind == Kind::kInt),
         p.is_optional_field, static_cast<std::int16_t>(find_parameter(p.alias_of))});
  }
}

// A contract that contradicts itself is a defect of this library, found when it is first used.
void Contract::validate() const {
  const auto require = [&](bool holds, const std::string& what) {
    if (!holds) fail(Code::kInternal, "contract of '{}': {}", operation, what);
  };
  require(!operation.empty() && !variants.empty(),
          "an operation has a name and at least one variant");
  require(args.alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__, "its Args type is over-aligned");
  for (std::size_t i = 0; i < variants.size(); ++i) {
    require(find_variant(variants[i].name) == static_cast<int>(i),
            "variant '" + variants[i].name + "' is listed twice");
  }
  std::vector<std::string> dtype_symbols;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    require(find_parameter(p.name) == static_cast<int>(i),
            "parameter '" + p.name + "' is listed twice");
    for (const std::string& name : p.variants)
      require(find_variant(name) >= 0, "'" + p.name + "' names the unknown variant '" + name + "'");
    // An integer whose default is outside its range has to be given.
    const bool required = p.kind == Kind::kInt && p.variants.empty();
    require(p.is_tensor() || p.is_optional || required ||
                (p.default_value >= p.low && p.default_value <= p.high),
            "the default of '" + p.name + "' is outside its range");
    require(p.is_tensor() || p.is_optional == p.is_optional_field,
            "the optional scalar '" + p.name + "' needs a std::optional field");
    if (!p.alias_of.empty()) {
      const int input = find_parameter(p.alias_of);
      require(input >= 0, "'" + p.name + "' may alias the unknown '" + p.alias_of + "'");
      require(p.role == Role::kOutput &&
                  parameters[static_cast<std::size_t>(input)].role == Role::kInput,
              "'" + p.name + "' may alias '" + p.alias_of +
                  "', but only an output may alias, and only an input");
    }
    if (!p.dtype.declares.empty()) dtype_symbols.push_back(p.dtype.declares);
    for (const Dim& dim : p.shape.dims) {
      for (const std::string* name : {&dim.s, &dim.t}) {
        if (name->empty()) continue;
        const int scalar = find_parameter(*name);
        const bool known =
            symbol(*name) != nullptr ||
            (scalar >= 0 && parameters[static_cast<std::size_t>(scalar)].kind == Kind::kInt);
        require(known, "'" + p.name + "' uses the symbol '" + *name +
                           "', which is neither declared nor an integer scalar");
      }
    }
  }
  for (const Parameter& p : parameters) {
    for (const DTypeTerm& term : p.dtype.terms) {
      if (term.kind == DTypeTerm::Kind::kFixed) continue;
      require(
          std::find(dtype_symbols.begin(), dtype_symbols.end(), term.symbol) != dtype_symbols.end(),
          "'" + p.name + "' uses the dtype symbol '" + term.symbol +
              "', which no parameter declares");
    }
  }
}

int Contract::find_parameter(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

int Contract::find_variant(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (variants[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

const Parameter& Contract::parameter(std::string_view name) const {
  if (const int index = find_parameter(name); index >= 0)
    return parameters[static_cast<std::size_t>(index)];
  std::vector<std::string> names;
  for (const Parameter& p : parameters) names.push_back(p.name);
  fail_text(Code::kNotFound, operation + ": " + unknown_name_message("parameter", name, names));
}

int Contract::variant_index(std::string_view name) const {
  if (const int index = find_variant(name); index >= 0) return index;
  std::vector<std::string> names;
  for (const Variant& v : variants) names.push_back(v.name);
  fail_text(Code::kNotFound, operation + ": " + unknown_name_message("variant", name, names));
}

const Symbol* Contract::symbol(std::string_view name) const noexcept {
  const auto it =
      std::find_if(symbols.begin(), symbols.end(), [&](const Symbol& s) { return s.name == name; });
  return it == symbols.end() ? nullptr : &*it;
}

std::string_view tolerance_class_name(ToleranceClass tolerance) noexcept {
  constexpr std::string_view kNames[] = {"movement",   "one_rounding", "two_roundings", "linear",
                                         "fused_gemm", "attention",    "recurrence",    "loss",
                                         "quantised",  "top_k"};
  return kNames[static_cast<int>(tolerance)];
}

}  // namespace kw
