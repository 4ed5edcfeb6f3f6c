// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/settings.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/core/settings_names.hpp"
#include "kernelwright/core/settings_yaml.hpp"

namespace kw {
namespace {

constexpr std::string_view kOverridePrefix = "KW_OVERRIDE_";

const KnownField* find_known_operation(const Catalog& catalog, std::string_view operation) {
  for (const KnownField& known : catalog.known_fields()) {
    if (known.operation == operation) return &known;
  }
  return nullptr;
}

[[noreturn]] void fail_not_in_build(std::string_view origin, std::string_view operation,
                                    const std::vector<std::string>& targets) {
  fail(Code::kNotFound,
       "{}: '{}' was asked for, but operation '{}' is not in this build; write auto or eager, or "
       "leave it out",
       origin, join(targets), operation);
}

}  // namespace

std::string_view source_name(Source source) noexcept {
  switch (source) {
    case Source::kDefault:
      return "default";
    case Source::kFile:
      return "file";
    case Source::kExplicit:
      return "explicit";
    case Source::kEnvironment:
      return "environment";
  }
  return "?";
}

std::vector<std::string> parse_targets(std::string_view text) {
  text = trim(text);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  std::vector<std::string> parts = split(text, ',');
  for (std::string& part : parts) part = std::string(trim(part));
  return parts;
}

std::string Choice::text() const {
  return targets.size() == 1 ? targets[0] : "[" + join(targets) + "]";
}

void Settings::store(const Contract& contract, std::string_view variant, const Choice& choice) {
  const auto slot = static_cast<std::size_t>(choice.source);
  if (variant.empty()) choices_[contract.operation][slot] = choice;
  for (const Variant& each : contract.variants) {
    const bool is_covered = variant.empty()
                                ? choice.source != Source::kFile || !own_field(contract, each.name)
                                : variant == each.name;
    if (is_covered) choices_[choice_label(contract.operation, each.name)][slot] = choice;
  }
}

void Settings::warn(std::string line) {
  if (std::find(warnings_.begin(), warnings_.end(), line) == warnings_.end()) {
    warnings_.push_back(std::move(line));
  }
}

void Settings::set(const Catalog& catalog, std::string_view what, std::vector<std::string> targets,
                   Source source, std::string origin) {
  const std::size_t slash = what.find('/');
  const std::string name(what.substr(0, slash));
  const Contract* contract = catalog.find_contract(name);
  if (contract == nullptr) {
    if (find_known_operation(catalog, name) == nullptr) {
      fail_text(Code::kNotFound,
                origin + ": " + unknown_name_message("operation", name, catalog.operation_names()));
    }
    if (targets.size() == 1 && is_reserved(targets[0])) return;
    fail_not_in_build(origin, name, targets);
  }
  std::string variant;
  if (slash != std::string_view::npos) {
    variant = what.substr(slash + 1);
    if (contract->find_variant(variant) < 0) {
      std::vector<std::string> variants;
      for (const Variant& each : contract->variants) variants.push_back(each.name);
      fail_text(Code::kNotFound,
                origin + ": " + name + ": " + unknown_name_message("variant", variant, variants));
    }
  }
  // A field admits its own known values; an override of the operation those of all its fields.
  std::vector<std::string> fields;
  if (const std::string* own = own_field(*contract, variant)) {
    fields.push_back(*own);
  } else if (source == Source::kFile) {
    fields.push_back(contract->field.name);
  } else {
    fields = fields_of(*contract);
  }
  Settings next = *this;
  std::vector<std::string> warnings;
  targets = check_targets(catalog, *contract, fields, std::move(targets), origin, warnings);
  next.store(*contract, variant, Choice{std::move(targets), source, std::move(origin)});
  for (std::string& line : warnings) next.warn(std::move(line));
  *this = std::move(next);
}

void Settings::load_yaml(const Catalog& catalog, std::string_view yaml, std::string_view name) {
  Settings next = *this;
  std::map<std::string, const YamlField*> given;  // by canonical field: an alias is no second field
  const std::vector<YamlField> entries = parse_ops_implementation(yaml, name);
  if (const std::optional<YamlFlag> required = parse_require_evidence(yaml, name)) {
    next.require_evidence = required->value;
    next.require_evidence_origin =
        fmt::format("{}:{}: model.require_evidence", name, required->line);
  }
  for (const YamlField& entry : entries) {
    const std::string where = fmt::format("{}:{}", name, entry.line);
    const Place place = find_field(catalog, entry.key, where);
    if (const auto [first, is_new] = given.emplace(place.field, &entry); !is_new) {
      fail(Code::kInvalidArgument, "{}: '{}' and '{}' (line {}) are the same field", where,
           entry.key, first->second->key, first->second->line);
    }
    const std::string what = choice_label(place.operation, place.variant);
    next.set(catalog, what, entry.values, Source::kFile,
             where + ": model.ops_implementation." + entry.key);
    std::erase_if(next.file_fields_, [&](const auto& old) { return old.first == place.field; });
    next.file_fields_.emplace_back(place.field, what);
  }
  *this = std::move(next);
}

void Settings::load_file(const Catalog& catalog, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // A directory opens but does not read.
  if (!file || !(text << file.rdbuf())) {
    fail(Code::kNotFound,
         "cannot read the configuration file '{}'; give the path of a readable YAML file that is "
         "not empty",
         path);
  }
  load_yaml(catalog, text.str(), path);
}

void Settings::apply_environment(const Catalog& catalog,
                                 const std::map<std::string, std::string>& overrides) {
  Settings next = *this;
  std::vector<std::string> operations = catalog.operation_names();
  for (const KnownField& known : catalog.known_fields()) operations.push_back(known.operation);
  for (const auto& [operation, value] : overrides) {
    const std::string variable = std::string(kOverridePrefix) + upper(operation);
    if (std::find(operations.begin(), operations.end(), operation) == operations.end()) {
      std::vector<std::string> variables;
      for (const std::string& name : catalog.operation_names()) {
        variables.push_back(std::string(kOverridePrefix) + upper(name));
      }
      fail_text(Code::kNotFound, unknown_name_message("override", variable, variables));
    }
    next.set(catalog, operation, parse_targets(value), Source::kEnvironment, variable);
  }
  *this = std::move(next);
}

std::vector<Choice> Settings::history(std::string_view operation, std::string_view variant) const {
  std::vector<Choice> history;
  if (const auto found = choices_.find(choice_label(operation, variant)); found != choices_.end()) {
    for (const Choice& choice : found->second) {
      if (!choice.targets.empty()) history.push_back(choice);
    }
  }
  if (history.empty() || history.front().source != Source::kDefault) {
    history.insert(history.begin(), Choice{{"auto"}, Source::kDefault, "default"});
  }
  return history;
}

Choice Settings::effective(std::string_view operation, std::string_view variant) const {
  return history(operation, variant).back();
}

bool Settings::same_effect(const Settings& other) const {
  if (prepare_on_miss != other.prepare_on_miss || mode != other.mode ||
      require_evidence != other.require_evidence)
    return false;
  const auto covers = [](const Settings& a, const Settings& b) {
    return std::all_of(a.choices_.begin(), a.choices_.end(), [&](const auto& entry) {
      return a.effective(entry.first).targets == b.effective(entry.first).targets;
    });
  };
  return covers(*this, other) && covers(other, *this);
}

std::string Settings::text() const {
  std::string text = fmt::format("mode={} prepare_on_miss={}", mode_name(mode), prepare_on_miss);
  if (require_evidence) text += " require_evidence=true";
  for (const auto& [key, choices] : choices_) {
    const std::size_t slash = key.find('/');
    const Choice choice = effective(key);
    if (choice.source == Source::kDefault) continue;
    // A variant is worth a word only where it differs from its operation.
    if (slash != std::string::npos && effective(key.substr(0, slash)).targets == choice.targets)
      continue;
    text += fmt::format(" {}={} ({})", key, choice.text(), choice.origin);
  }
  return text;
}

}  // namespace kw
