// SPDX-License-Identifier: Apache-2.0
// Private: the list that cmake/KwEmbed.cmake generates. Includes only the standard library.
#pragma once

#include <span>
#include <string_view>

namespace kw::ops {

struct EmbeddedSuite {
  std::string_view folder, text;  // of src/ops/<folder>/suite.yaml
};

std::span<const EmbeddedSuite> embedded_suites() noexcept;

}  // namespace kw::ops
