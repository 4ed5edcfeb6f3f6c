// SPDX-License-Identifier: Apache-2.0
// Private: the list that cmake/KwEmbed.cmake generates. Includes only the standard library.
#pragma once

#include <span>
#include <string_view>

namespace kw::jit {

struct EmbeddedHeader {
  std::string_view name, text;
};

std::span<const EmbeddedHeader> embedded_headers() noexcept;

}  // namespace kw::jit
