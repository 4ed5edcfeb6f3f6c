// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/cli/console.hpp"

#include <unistd.h>

#include <iostream>

#include "kernelwright/core/environment.hpp"

namespace kw::cli {
namespace {

std::string_view escape_of(Style style) noexcept {
  switch (style) {
    case Style::kHeading:
      return "\x1b[1m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kBad:
      return "\x1b[31m";
    case Style::kWarning:
      return "\x1b[33m";
    case Style::kFaint:
      return "\x1b[2m";
    case Style::kPlain:
      break;
  }
  return "";
}

}  // namespace

std::string styled(std::string_view text, Style style, bool colour) {
  const std::string_view escape = escape_of(style);
  if (!colour || escape.empty() || text.empty()) return std::string(text);
  return std::string(escape).append(text).append("\x1b[0m");
}

std::string Console::heading(std::string_view text) const {
  return styled(text, Style::kHeading, out_colour) + "\n";
}

void Console::error(std::string_view message) const {
  err << styled("error:", Style::kBad, err_colour) << ' ' << message << '\n';
}

void Console::warning(std::string_view message) const {
  err << styled("warning:", Style::kWarning, err_colour) << ' ' << message << '\n';
}

Console standard_console() {
  const bool colour = !refuses_colour();
  const bool out_is_terminal = isatty(STDOUT_FILENO) != 0;
  const bool err_is_terminal = isatty(STDERR_FILENO) != 0;
  return {std::cout, std::cerr, colour && out_is_terminal, colour && err_is_terminal,
          err_is_terminal};
}

}  // namespace kw::cli
