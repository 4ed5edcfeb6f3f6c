// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/cli/console.hpp"

#include <unistd.h>

#include <cstdlib>
#include <iostream>

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

bool colour_wanted(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool refused = (no_color != nullptr && *no_color != '\0') ||
                       (term != nullptr && std::string_view(term) == "dumb");
  return !refused && isatty(descriptor) != 0;
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
  return {std::cout, std::cerr, colour_wanted(STDOUT_FILENO), colour_wanted(STDERR_FILENO),
          isatty(STDERR_FILENO) != 0};
}

}  // namespace kw::cli
