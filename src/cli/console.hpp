// SPDX-License-Identifier: Apache-2.0
// Where a command writes: results to `out`, everything else to `err`; and whether with colour.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace kw::cli {

enum class Style { kPlain, kHeading, kGood, kBad, kWarning, kFaint };

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool out_colour = false;
  bool err_colour = false;
  bool err_is_terminal = false;  // progress may be drawn

  std::string heading(std::string_view text) const;  // for `out`, with the line break
  void error(std::string_view message) const;
  void warning(std::string_view message) const;
};

// std::cout and std::cerr. Colour only on a terminal, and not when NO_COLOR is set to anything or
// TERM is "dumb" (no-color.org).
Console standard_console();

// `text` between escape sequences if `colour`, else as it is.
std::string styled(std::string_view text, Style style, bool colour);

}  // namespace kw::cli
