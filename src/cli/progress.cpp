// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/cli/progress.hpp"

#include <ostream>

namespace kw::cli {

ProgressLine::~ProgressLine() {
  if (drawn_.time_since_epoch().count() != 0) console_.err << "\r\x1b[K" << std::flush;
}

void ProgressLine::show(std::string_view text) {
  const auto now = std::chrono::steady_clock::now();
  if (!shown_ || now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  // Cut to one line of a narrow terminal: a wrapped line cannot be redrawn.
  console_.err << "\r\x1b[K" << text.substr(0, 78) << std::flush;
}

}  // namespace kw::cli
