// SPDX-License-Identifier: Apache-2.0
// One line that tells how far a command is.
#pragma once

#include <chrono>
#include <string_view>

#include "kernelwright/cli/console.hpp"

namespace kw::cli {

// On a terminal's standard error, redrawn at most ten times a second and gone at the end; nothing
// elsewhere.
class ProgressLine {
 public:
  ProgressLine(const Console& console, bool quiet)
      : console_(console), shown_(console.err_is_terminal && !quiet) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::string_view text);

 private:
  const Console& console_;
  const bool shown_;
  std::chrono::steady_clock::time_point drawn_{};  // the epoch: not yet
};

}  // namespace kw::cli
