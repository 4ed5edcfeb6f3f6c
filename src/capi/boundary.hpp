// SPDX-License-Identifier: Apache-2.0
// Private: where exceptions end and codes begin, and text that C callers own.
#pragma once

#include <string>

#include "kernelwright/base/error.hpp"
#include "kernelwright/core/status.hpp"
#include "kernelwright/kw.h"

namespace kw::capi {

// Records the message of this thread and returns `code`.
int refuse(int code, const char* message) noexcept;
int refuse_current_exception() noexcept;
// KW_OK, or the code of a failed status with its message.
int code_of(Status status) noexcept;

// Runs `body`, which may return a code or nothing.
template <typename Body>
int guarded(const Body& body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return KW_OK;
    } else {
      return body();
    }
  } catch (...) {
    return refuse_current_exception();
  }
}

// Throw Error(kInvalidArgument) that names the argument.
void require_pointer(const void* pointer, const char* name);
const char* require_text(const char* text, const char* name);

// For kw_free. Throws std::bad_alloc.
char* to_caller(const std::string& text);

// A function that answers with text: null unless it succeeds.
template <typename Body>
int answered(char** reply, const char* name, const Body& body) noexcept {
  return guarded([&] {
    require_pointer(reply, name);
    *reply = nullptr;
    *reply = to_caller(body());
  });
}

}  // namespace kw::capi
