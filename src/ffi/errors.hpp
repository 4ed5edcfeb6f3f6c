// SPDX-License-Identifier: Apache-2.0
// Private: errors on their way to Python, as the exception types that it knows: ValueError,
// TypeError, KeyError (an unknown name), NotImplementedError (nothing serves it here),
// RuntimeError.
#pragma once

#include <string>

#include <tvm/ffi/error.h>

#include "kernelwright/base/error.hpp"
#include "kernelwright/core/status.hpp"

namespace kw::ffi {

[[noreturn]] void raise(const char* kind, std::string message);
[[noreturn]] void raise(const Error& error);
// Raises what a failed status says; no-op when ok.
void raise_if_failed(Status status);

// Runs `function` with kw::Error turned into what Python raises.
template <typename Function>
decltype(auto) translated(Function&& function) {
  try {
    return function();
  } catch (const Error& error) {
    raise(error);
  }
}

}  // namespace kw::ffi
