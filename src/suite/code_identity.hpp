// SPDX-License-Identifier: Apache-2.0
// Which code an implementation runs: what evidence is about.
#pragma once

#include <string>

#include "kernelwright/core/implementation.hpp"

namespace kw::suite {

// "source:<digest>" of the compiled sources that a plan names, in their order, when it names any;
// else "build:<id>" of the library that holds the implementation. Equal text means equal code.
// Empty where nothing tells: a callable of another language, whose plan says {"code", "opaque"}.
std::string code_identity(const Implementation& implementation, const PlanFacts& facts);

// The GNU build id, in hexadecimal, of the library or program that holds `address`; empty when it
// has none.
std::string build_id_of(const void* address);

}  // namespace kw::suite
