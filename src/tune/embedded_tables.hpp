// SPDX-License-Identifier: Apache-2.0
// Private: the list that cmake/KwEmbed.cmake generates. Includes only the standard library.
#pragma once

#include <span>
#include <string_view>

namespace kw::tune {

struct EmbeddedTable {
  std::string_view folder, text;
};

std::span<const EmbeddedTable> embedded_tables() noexcept;

}  // namespace kw::tune
