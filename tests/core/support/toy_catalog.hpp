// SPDX-License-Identifier: Apache-2.0
// Two toy operations without kernels, for tests of registration and settings: what is wrong or
// chosen there is decided before anything runs. Every call gives fresh entries; contracts are
// shared.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kernelwright/base/error.hpp"
#include "kernelwright/core/catalog.hpp"

namespace kw::toy {

// Operation "stretch": alias, prefix, deprecated value, and a field of its own for variant
// "mirror".
const Contract& stretch();
// Operation "fold": nothing but defaults.
const Contract& fold();

// An entry with seven functions that answer, named <device>.<solution>.<operation>.
Implementation entry(DeviceKind device, const std::string& solution, const std::string& operation);

// stretch: cpu.native, cpu.reference, cuda.jit; fold: cpu.native. Known fields and values around
// them.
void fill(Catalog& catalog);

// The message of the Error that `call` throws, as "<code>: <text>"; "no error" without one.
template <typename Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(code_name(error.code())) + ": " + error.what();
  }
  return "no error";
}

testing::AssertionResult has(const std::string& text, const std::string& piece);

}  // namespace kw::toy
