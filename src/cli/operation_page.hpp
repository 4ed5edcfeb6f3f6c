// SPDX-License-Identifier: Apache-2.0
// All there is to say about one operation, as text: variants, parameters, sizes, implementations,
// configuration, batches. Read off its contract and catalog entry; touches no device.
#pragma once

#include <string>
#include <string_view>

#include "kernelwright/cli/console.hpp"
#include "kernelwright/core/catalog.hpp"

namespace kw::cli {

// Throws Error(kNotFound) with the nearest name.
std::string operation_page(std::string_view operation, const Console& console);

// Of an implementation, as lists show them: "deterministic, batch_invariant", "eager, graph",
// "AVX2 (2) or newer", "standard, fp32" or "all".
std::string properties_text(const ImplementationInfo& info);
std::string modes_text(const ImplementationInfo& info);
std::string capability_range_text(const ImplementationInfo& info);
std::string variants_text(const ImplementationInfo& info);

// The values that the configuration field of `contract` accepts here: auto, eager, solutions.
std::string served_values(const Operation& operation);

}  // namespace kw::cli
