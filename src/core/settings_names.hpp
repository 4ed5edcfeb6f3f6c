// SPDX-License-Identifier: Apache-2.0
// What names in a configuration stand for: fields, targets, known values. Looks names up in a
// catalog and knows no device. Private: core only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernelwright/core/catalog.hpp"

namespace kw {

// "auto" and "eager": values of every field, names of no implementation.
bool is_reserved(std::string_view target) noexcept;
// "operation" or "operation/variant".
std::string choice_label(std::string_view operation, std::string_view variant);

// The field of its own that `variant` has; null for most.
const std::string* own_field(const Contract& contract, std::string_view variant) noexcept;
// The canonical fields of an operation, the general one first.
std::vector<std::string> fields_of(const Contract& contract);
// Without the prefix of the operation's field: "fused_x" -> "x".
std::string without_prefix(const Contract& contract, std::string_view value);

// Whether `target` is the exact name or the solution of `implementation`.
bool is_named(const Implementation& implementation, std::string_view target) noexcept;
// By exact name or solution of what it stands for; null if there is none.
const Exclusion* find_exclusion(const Catalog& catalog, std::string_view operation,
                                std::string_view target);
const KnownValue* find_known_value(const Catalog& catalog, const Contract& contract,
                                   std::string_view field, std::string_view target);

struct Place {
  const Contract* contract = nullptr;  // null: the operation is not in this build
  std::string operation, variant, field;
};
// The place of a field or of an alias. Throws Error(kNotFound) that starts with `where`.
Place find_field(const Catalog& catalog, std::string_view name, std::string_view where);

// Targets as Choice holds them, each known to `fields` of the operation or to its list on some
// device. Appends a line to `warnings` per deprecated value. Throws Error that starts with
// `origin`.
std::vector<std::string> check_targets(const Catalog& catalog, const Contract& contract,
                                       const std::vector<std::string>& fields,
                                       std::vector<std::string> targets, std::string_view origin,
                                       std::vector<std::string>& warnings);

}  // namespace kw
