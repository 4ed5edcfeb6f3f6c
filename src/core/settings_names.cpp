// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/settings_names.hpp"

#include <algorithm>
#include <utility>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"

namespace kw {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (!contains(names, name)) names.push_back(name);
}

[[noreturn]] void fail_unknown_field(const Catalog& catalog, std::string_view where,
                                     const std::string& key) {
  std::vector<std::string> candidates;
  for (const Operation& operation : catalog.operations()) {
    for (const std::string& field : fields_of(*operation.contract)) add_name(candidates, field);
  }
  for (const KnownField& known : catalog.known_fields()) add_name(candidates, known.field);
  // An operation's name where its field was meant is too far away for an edit distance.
  std::string hint;
  if (const Operation* operation = catalog.find(key)) {
    hint = "; the field of operation '" + key + "' is '" + operation->contract->field.name + "'";
  }
  fail_text(Code::kNotFound,
            std::string(where) + ": " +
                unknown_name_message("field of model.ops_implementation", key, candidates) + hint);
}

class TargetCheck {
 public:
  TargetCheck(const Catalog& catalog, const Contract& contract,
              const std::vector<std::string>& fields, std::string_view origin)
      : catalog_(catalog),
        operation_(catalog.operation(contract.operation)),
        contract_(contract),
        fields_(fields),
        origin_(origin) {}

  std::vector<std::string> run(std::vector<std::string> targets,
                               std::vector<std::string>& warnings) const {
    if (targets.empty()) {
      fail(Code::kInvalidArgument,
           "{}: no implementation of '{}' is named; write auto, eager, a solution or an exact name",
           origin_, contract_.operation);
    }
    for (auto target = targets.begin(); target != targets.end(); ++target) {
      *target = canonical(*target, warnings);
      if (targets.size() > 1 && is_reserved(*target)) {
        fail(
            Code::kInvalidArgument,
            "{}: '{}' stands alone; a list for '{}' names implementations in the order to try them",
            origin_, *target, contract_.operation);
      }
      if (std::find(targets.begin(), target, *target) != target) {
        fail(Code::kInvalidArgument, "{}: the list for '{}' names '{}' twice", origin_,
             contract_.operation, *target);
      }
    }
    return targets;
  }

 private:
  std::string canonical(const std::string& given, std::vector<std::string>& warnings) const {
    std::string_view target = given;
    for (const auto& [old_value, new_value] : contract_.field.deprecated_values) {
      if (given != old_value) continue;
      target = new_value;
      warnings.push_back(fmt::format("{}: value '{}' of '{}' is deprecated; write '{}'", origin_,
                                     given, contract_.operation, new_value));
      break;
    }
    std::string name = without_prefix(contract_, target);
    if (is_reserved(name) || find_exclusion(catalog_, contract_.operation, name) != nullptr)
      return name;
    for (const Implementation& implementation : operation_.implementations) {
      if (is_named(implementation, name)) return name;
    }
    for (const std::string& field : fields_) {
      if (find_known_value(catalog_, contract_, field, name) != nullptr) return name;
    }
    fail_text(Code::kNotFound, std::string(origin_) + ": " + contract_.operation + ": " +
                                   unknown_name_message("implementation", given, candidates()));
  }

  std::vector<std::string> candidates() const {
    std::vector<std::string> candidates{"auto", "eager"};
    for (const Implementation& implementation : operation_.implementations) {
      add_name(candidates, implementation.info.solution);
      add_name(candidates, implementation.info.name);
    }
    for (const KnownValue& known : catalog_.known_values()) {
      if (contains(fields_, known.field)) add_name(candidates, known.value);
    }
    return candidates;
  }

  const Catalog& catalog_;
  const Operation& operation_;
  const Contract& contract_;
  const std::vector<std::string>& fields_;
  std::string_view origin_;
};

}  // namespace

bool is_reserved(std::string_view target) noexcept { return target == "auto" || target == "eager"; }

std::string choice_label(std::string_view operation, std::string_view variant) {
  std::string text(operation);
  if (!variant.empty()) text.append("/").append(variant);
  return text;
}

const std::string* own_field(const Contract& contract, std::string_view variant) noexcept {
  for (const auto& [name, field] : contract.field.variant_names) {
    if (name == variant) return &field;
  }
  return nullptr;
}

std::vector<std::string> fields_of(const Contract& contract) {
  std::vector<std::string> fields{contract.field.name};
  for (const auto& [variant, field] : contract.field.variant_names) fields.push_back(field);
  return fields;
}

std::string without_prefix(const Contract& contract, std::string_view value) {
  const std::string& prefix = contract.field.value_prefix;
  const bool has_prefix =
      !prefix.empty() && value.size() > prefix.size() && value.substr(0, prefix.size()) == prefix;
  return std::string(has_prefix ? value.substr(prefix.size()) : value);
}

bool is_named(const Implementation& implementation, std::string_view target) noexcept {
  return implementation.info.name == target || implementation.info.solution == target;
}

const Exclusion* find_exclusion(const Catalog& catalog, std::string_view operation,
                                std::string_view target) {
  for (const Exclusion& exclusion : catalog.exclusions()) {
    if (exclusion.operation != operation) continue;
    if (exclusion.implementation == target ||
        split(exclusion.implementation, '.').at(1) == target) {
      return &exclusion;
    }
  }
  return nullptr;
}

const KnownValue* find_known_value(const Catalog& catalog, const Contract& contract,
                                   std::string_view field, std::string_view target) {
  for (const KnownValue& known : catalog.known_values()) {
    if (known.field == field && without_prefix(contract, known.value) == target) return &known;
  }
  return nullptr;
}

Place find_field(const Catalog& catalog, std::string_view name, std::string_view where) {
  for (const Operation& operation : catalog.operations()) {
    const Contract& contract = *operation.contract;
    const ConfigField& field = contract.field;
    if (field.name == name || contains(field.aliases, name)) {
      return {&contract, contract.operation, "", field.name};
    }
    for (const auto& [variant, variant_field] : field.variant_names) {
      if (variant_field == name) return {&contract, contract.operation, variant, variant_field};
    }
  }
  for (const KnownField& known : catalog.known_fields()) {
    if (known.field == name) return {nullptr, known.operation, known.variant, known.field};
  }
  fail_unknown_field(catalog, where, std::string(name));
}

std::vector<std::string> check_targets(const Catalog& catalog, const Contract& contract,
                                       const std::vector<std::string>& fields,
                                       std::vector<std::string> targets, std::string_view origin,
                                       std::vector<std::string>& warnings) {
  return TargetCheck(catalog, contract, fields, origin).run(std::move(targets), warnings);
}

}  // namespace kw
