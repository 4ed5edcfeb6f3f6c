// SPDX-License-Identifier: Apache-2.0
// Formatted throwing of kw::Error. Private: installed headers include error.hpp, which needs no
// fmt.
#pragma once

#include <utility>

#include <fmt/core.h>

#include "kernelwright/base/error.hpp"

namespace kw {

template <typename... Arguments>
[[noreturn]] void fail(Code code, fmt::format_string<Arguments...> format,
                       Arguments&&... arguments) {
  fail_text(code, fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace kw
