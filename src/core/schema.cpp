// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/schema.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "kernelwright/base/text.hpp"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

std::string_view role_name(Role role) noexcept {
  constexpr std::string_view kNames[] = {"input", "mutated", "output", "scalar"};
  return kNames[static_cast<int>(role)];
}

std::string_view kind_name(Kind kind) noexcept {
  constexpr std::string_view kNames[] = {"tensor", "tensor_list", "float", "int", "bool", "enum"};
  return kNames[static_cast<int>(kind)];
}

std::string_view variability_name(Variability variability) noexcept {
  return variability == Variability::kStatic ? "static" : "dynamic";
}

// Each dimension is {"batch": true} (`*`, first only) or scale * s * t + offset, "" standing for 1.
Json dims_json(const Shape& shape) {
  Json dims = Json::array();
  if (shape.batch) dims.push_back({{"batch", true}});
  for (const Dim& dim : shape.dims) {
    dims.push_back({{"scale", dim.scale}, {"s", dim.s}, {"t", dim.t}, {"offset", dim.offset}});
  }
  return dims;
}

Json dtypes_json(const DTypeRule& rule) {
  constexpr std::string_view kKinds[] = {"fixed", "symbol", "accumulator"};
  Json terms = Json::array();
  for (const DTypeTerm& term : rule.terms) {
    const bool fixed = term.kind == DTypeTerm::Kind::kFixed;
    terms.push_back({{"kind", kKinds[static_cast<int>(term.kind)]},
                     {"dtype", fixed ? dtype_name(term.dtype) : ""},
                     {"symbol", term.symbol}});
  }
  return {{"declares", rule.declares}, {"terms", std::move(terms)}};
}

Json default_json(const Parameter& p) {
  switch (p.kind) {
    case Kind::kBool:
      return p.default_value != 0;
    case Kind::kEnum:
      return p.choices[static_cast<std::size_t>(p.default_value)];
    case Kind::kInt:
      return static_cast<std::int64_t>(p.default_value);
    default:
      return p.default_value;
  }
}

Json parameter_json(const Parameter& p) {
  Json row{{"name", p.name}, {"role", role_name(p.role)}, {"kind", kind_name(p.kind)},
           {"help", p.help}, {"optional", p.is_optional}, {"offset", p.offset}};
  if (!p.variants.empty()) row["variants"] = p.variants;
  if (p.is_tensor()) {
    row["shape"] = shape_text(p.shape);
    row["dims"] = dims_json(p.shape);
    row["dtype"] = dtype_rule_text(p.dtype);
    row["dtypes"] = dtypes_json(p.dtype);
    if (p.is_saved) row["saved"] = true;
    if (p.is_differentiable) row["differentiable"] = true;
    if (!p.alias_of.empty()) row["may_alias"] = p.alias_of;
    if (!p.content.empty()) row["content"] = p.content;
    if (!p.output_group.empty()) row["group"] = p.output_group;
    return row;
  }
  row["variability"] = variability_name(p.variability);
  if (!p.is_optional) row["default"] = default_json(p);
  if (!p.choices.empty()) row["choices"] = p.choices;
  if (p.kind == Kind::kEnum) return row;  // its range is that of the choices
  if (std::isfinite(p.low)) row["low"] = p.low;
  if (std::isfinite(p.high)) row["high"] = p.high;
  return row;
}

// What a variant lacks is left out there.
bool may_be_none(const Parameter& p) noexcept { return p.is_optional || !p.variants.empty(); }

std::string torch_type(const Parameter& p, char& alias) {
  switch (p.kind) {
    case Kind::kTensor:
      if (p.role == Role::kMutated)
        return std::string("Tensor(") + alias++ + "!)" + (may_be_none(p) ? "?" : "");
      return may_be_none(p) ? "Tensor?" : "Tensor";
    case Kind::kTensorList:
      return may_be_none(p) ? "Tensor[]?" : "Tensor[]";
    case Kind::kFloat:
      return p.is_optional ? "float?" : "float";
    case Kind::kInt:
      return p.is_optional ? "SymInt?" : "SymInt";
    case Kind::kBool:
      return "bool";
    case Kind::kEnum:
      return "str";
  }
  return "";
}

std::string torch_default(const Parameter& p) {
  if (p.is_optional) return "None";
  switch (p.kind) {
    case Kind::kBool:
      return p.default_value != 0 ? "True" : "False";
    case Kind::kEnum:
      return "'" + p.choices[static_cast<std::size_t>(p.default_value)] + "'";
    default:
      return number_text(p.default_value);
  }
}

}  // namespace

std::string contract_json(const Contract& contract) {
  Json json{{"operation", contract.operation},
            {"version", contract.version},
            {"summary", contract.summary},
            {"numerical_mode", contract.numerical_mode},
            {"backward", contract.backward}};
  for (const Variant& v : contract.variants)
    json["variants"].push_back(
        {{"name", v.name}, {"help", v.help}, {"tolerance", tolerance_class_name(v.tolerance)}});
  for (const Parameter& p : contract.parameters) json["parameters"].push_back(parameter_json(p));
  json["symbols"] = Json::array();
  for (const Symbol& s : contract.symbols) {
    json["symbols"].push_back({{"name", s.name},
                               {"help", s.help},
                               {"variability", variability_name(s.variability)},
                               {"low", s.low},
                               {"high", s.high}});
  }
  json["field"] = {{"name", contract.field.name},
                   {"aliases", contract.field.aliases},
                   {"value_prefix", contract.field.value_prefix}};
  json["args_size"] = contract.args.size;
  json["torch_schema"] = torch_schema(contract);
  return json.dump();
}

std::string torch_schema(const Contract& contract) {
  std::vector<std::string> inputs, keywords, outputs;
  char alias = 'a';
  for (const Parameter& p : contract.parameters) {
    if (p.role == Role::kOutput) {
      outputs.push_back((p.kind == Kind::kTensorList ? "Tensor[] " : "Tensor ") + p.name);
      if (p.is_optional) keywords.push_back("bool want_" + p.name + "=False");
    } else if (p.is_tensor()) {
      inputs.push_back(torch_type(p, alias) + " " + p.name);
    } else {
      inputs.push_back(torch_type(p, alias) + " " + p.name + "=" + torch_default(p));
    }
  }
  keywords.insert(keywords.begin(), "str variant='" + contract.variants.front().name + "'");
  return contract.operation + "(" + join(inputs) + ", *, " + join(keywords) + ") -> (" +
         join(outputs) + ")";
}

std::string contract_markdown(const Contract& contract) {
  std::string text =
      "| parameter | role | dtype | shape | default | |\n|---|---|---|---|---|---|\n";
  for (const Parameter& p : contract.parameters) {
    const std::string dtype =
        p.is_tensor() ? dtype_rule_text(p.dtype) : std::string(kind_name(p.kind));
    std::string remark = p.help;
    if (!p.variants.empty()) remark += " (" + join(p.variants) + ")";
    std::string escaped;
    for (const char c : dtype) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
    const std::string value = p.is_scalar() && !p.is_optional ? default_json(p).dump()
                              : p.is_optional                 ? "optional"
                                                              : "";
    text += "| `" + p.name + "` | " + std::string(role_name(p.role)) + " | " + escaped + " | " +
            (p.is_tensor() ? shape_text(p.shape) : "") + " | " + value + " | " + remark + " |\n";
  }
  text += "\n| variant | class | meaning |\n|---|---|---|\n";
  for (const Variant& v : contract.variants)
    text += "| `" + v.name + "` | " + std::string(tolerance_class_name(v.tolerance)) + " | " +
            v.help + " |\n";
  return text;
}

}  // namespace kw
