// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM as a question that long runs ask, so that they end with a report.
#pragma once

#include <csignal>

namespace kw::cli {

// While it lives, the first such signal is remembered instead of ending the process, and the second
// ends it as ever. One at a time in a process.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool requested() const noexcept;

 private:
  struct sigaction old_int_, old_term_;
};

}  // namespace kw::cli
