// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/catalog.hpp"

#include <algorithm>
#include <utility>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/log.hpp"
#include "kernelwright/base/text.hpp"

namespace kw {
namespace {

// [a-z][a-z0-9_]*: such names cross to Python, YAML and environment variables unchanged.
bool is_identifier(std::string_view name) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  if (name.empty() || !is_lower(name[0])) return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '_'; });
}

// Throws unless `name` is <device>.<solution>.<operation>; returns the solution.
std::string require_name_shape(std::string_view name, std::string_view operation) {
  const std::vector<std::string> parts = split(name, '.');
  const bool has_shape =
      parts.size() == 3 && std::all_of(parts.begin(), parts.end(), is_identifier);
  if (!has_shape || parts[2] != operation) {
    fail(
        Code::kInvalidArgument,
        "implementation '{}' of operation '{}': a name is <device>.<solution>.<operation>, such as "
        "cpu.native.{}",
        name, operation, operation);
  }
  parse_device_kind(parts[0]);
  if (parts[1] == "auto" || parts[1] == "eager") {
    fail(Code::kInvalidArgument,
         "implementation '{}': 'auto' and 'eager' are not solutions; they have a meaning of their "
         "own",
         name);
  }
  return parts[1];
}

// Everything that an entry can get wrong by itself or against its contract.
void require_consistent(const Contract& contract, const Implementation& implementation) {
  const ImplementationInfo& info = implementation.info;
  const std::string solution = require_name_shape(info.name, contract.operation);
  const auto require = [&](bool holds, std::string_view what) {
    if (!holds) fail(Code::kInvalidArgument, "implementation '{}': {}", info.name, what);
  };
  require(info.solution == solution,
          fmt::format("its solution is '{}', its name says '{}'", info.solution, solution));
  require(info.name.compare(0, info.name.find('.'), device_kind_name(info.device)) == 0,
          fmt::format("its device is {}, its name says otherwise", device_kind_name(info.device)));
  require(!trim(info.description).empty() && info.description.find('\n') == std::string::npos,
          "its description must be one line");
  require(info.min_capability <= info.max_capability,
          fmt::format("its capability range {}..{} is empty", info.min_capability,
                      info.max_capability));
  require(info.eager_mode || info.graph_mode, "it runs in no mode; set eager_mode or graph_mode");
  for (const std::string& variant : info.variants) {
    if (contract.find_variant(variant) >= 0) continue;
    std::vector<std::string> variants;
    for (const Variant& each : contract.variants) variants.push_back(each.name);
    fail_text(Code::kInvalidArgument, "implementation '" + info.name + "': " +
                                          unknown_name_message("variant", variant, variants));
  }
  const ImplementationFunctions& f = implementation.functions;
  require(f.supports && f.workspace && f.choose && f.prepare && f.launch && f.destroy && f.describe,
          "all seven functions must be given: supports, workspace, choose, prepare, launch, "
          "destroy, describe");
}

// Third parties: higher priority first, then name.
bool ranks_before(const Implementation& a, const Implementation& b) {
  if (a.info.priority != b.info.priority) return a.info.priority > b.info.priority;
  return a.info.name < b.info.name;
}

}  // namespace

void Catalog::require_open(std::string_view what, std::string_view name) const {
  if (!frozen_) return;
  fail(Code::kConflict,
       "{} '{}' comes too late: the catalog froze at the first resolve; register before any "
       "context is "
       "made, or start a new process",
       what, name);
}

void Catalog::add(Operation operation) {
  if (operation.contract == nullptr) {
    fail(Code::kInvalidArgument,
         "an operation without a contract was added to the catalog; pass the address of "
         "Args::contract()");
  }
  const Contract& contract = *operation.contract;
  if (!is_identifier(contract.operation)) {
    fail(Code::kInvalidArgument,
         "operation name '{}': lower-case letters, digits and '_', starting with a letter",
         contract.operation);
  }
  const auto& entries = operation.implementations;
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    require_consistent(contract, *entry);
    const auto has_name = [&](const Implementation& other) {
      return other.info.name == entry->info.name;
    };
    if (std::any_of(entries.begin(), entry, has_name)) {
      fail(Code::kConflict, "operation '{}' lists implementation '{}' twice", contract.operation,
           entry->info.name);
    }
  }
  const std::lock_guard lock(mutex_);
  require_open("operation", contract.operation);
  if (find(contract.operation) != nullptr) {
    fail(Code::kConflict,
         "operation '{}' is in the catalog already; implementations are added with "
         "register_implementation",
         contract.operation);
  }
  in_tree_.reserve(in_tree_.size() + 1);
  operations_.push_back(std::move(operation));
  in_tree_.push_back(operations_.back().implementations.size());
}

void Catalog::register_implementation(std::string_view operation_name,
                                      Implementation implementation, bool force) {
  std::string replaced, name = implementation.info.name;
  const std::string origin = implementation.info.origin;
  {
    const std::lock_guard lock(mutex_);
    require_open("implementation", name);
    const Operation& found = operation(operation_name);
    require_consistent(*found.contract, implementation);
    const auto index = static_cast<std::size_t>(&found - operations_.data());
    std::vector<Implementation>& entries = operations_[index].implementations;
    const auto third_parties = [&] {
      return entries.begin() + static_cast<std::ptrdiff_t>(in_tree_[index]);
    };

    const auto same =
        std::find_if(entries.begin(), entries.end(),
                     [&](const Implementation& entry) { return entry.info.name == name; });
    if (same != entries.end()) {
      if (!force) {
        fail(Code::kConflict,
             "implementation '{}' is registered already by '{}'; '{}' needs another solution name, "
             "or "
             "force to replace it",
             name, same->info.origin, origin);
      }
      replaced = same->info.origin;
      *same = std::move(implementation);
      std::sort(third_parties(), entries.end(), ranks_before);
    } else {
      const auto position =
          std::upper_bound(third_parties(), entries.end(), implementation, ranks_before);
      entries.insert(position, std::move(implementation));
    }
    std::erase_if(exclusions_,
                  [&](const Exclusion& exclusion) { return exclusion.implementation == name; });
  }
  // The sink is the program's: it is not called under the lock.
  if (!replaced.empty()) {
    log(LogLevel::kWarning, "catalog",
        fmt::format("implementation '{}' of '{}' is replaced by that of '{}' (force)", name,
                    replaced, origin));
  }
}

void Catalog::exclude(Exclusion exclusion) {
  const std::lock_guard lock(mutex_);
  require_open("exclusion", exclusion.implementation);
  operation(exclusion.operation);
  require_name_shape(exclusion.implementation, exclusion.operation);
  if (trim(exclusion.reason).empty()) {
    fail(Code::kInvalidArgument,
         "the exclusion of '{}' gives no reason; say what is missing or too old",
         exclusion.implementation);
  }
  if (find_implementation(exclusion.implementation).second != nullptr) {
    fail(Code::kConflict, "implementation '{}' is registered and cannot be excluded as well",
         exclusion.implementation);
  }
  std::erase_if(exclusions_, [&](const Exclusion& old) {
    return old.implementation == exclusion.implementation;
  });
  exclusions_.push_back(std::move(exclusion));
}

void Catalog::add_known_field(KnownField field) {
  const std::lock_guard lock(mutex_);
  require_open("known field", field.field);
  for (const KnownField& old : known_fields_) {
    if (old.field == field.field)
      fail(Code::kConflict, "field '{}' is known already, for '{}'", field.field, old.operation);
  }
  known_fields_.push_back(std::move(field));
}

void Catalog::add_known_value(KnownValue value) {
  const std::lock_guard lock(mutex_);
  require_open("known value", value.value);
  for (const KnownValue& old : known_values_) {
    if (old.field == value.field && old.value == value.value) {
      fail(Code::kConflict, "value '{}' of field '{}' is known already", value.value, value.field);
    }
  }
  known_values_.push_back(std::move(value));
}

void Catalog::set_evidence_gate(std::shared_ptr<const EvidenceGate> gate) {
  const std::lock_guard lock(mutex_);
  require_open("gate", "evidence");
  evidence_gate_ = std::move(gate);
}

void Catalog::freeze() noexcept {
  const std::lock_guard lock(mutex_);
  frozen_ = true;
}

bool Catalog::frozen() const noexcept {
  const std::lock_guard lock(mutex_);
  return frozen_;
}

const Operation* Catalog::find(std::string_view operation) const noexcept {
  for (const Operation& each : operations_) {
    if (each.contract->operation == operation) return &each;
  }
  return nullptr;
}

const Operation& Catalog::operation(std::string_view operation) const {
  if (const Operation* found = find(operation)) return *found;
  fail_text(Code::kNotFound, unknown_name_message("operation", operation, operation_names()));
}

std::pair<const Operation*, const Implementation*> Catalog::find_implementation(
    std::string_view name) const noexcept {
  for (const Operation& each : operations_) {
    for (const Implementation& implementation : each.implementations) {
      if (implementation.info.name == name) return {&each, &implementation};
    }
  }
  return {nullptr, nullptr};
}

const Contract* Catalog::find_contract(std::string_view operation) const noexcept {
  const Operation* found = find(operation);
  return found == nullptr ? nullptr : found->contract;
}

std::vector<std::string> Catalog::operation_names() const {
  std::vector<std::string> names;
  for (const Operation& each : operations_) names.push_back(each.contract->operation);
  return names;
}

}  // namespace kw
