// SPDX-License-Identifier: Apache-2.0
// Private: runs another program and waits. By argument vector, never through a shell.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace kw::jit {

struct ProcessResult {
  int exit_code = -1;  // -1: ended by a signal
  bool timed_out = false;
  std::string output;  // of stdout and stderr together
};

// `arguments[0]` is the path of the program. Its environment is `environment` alone and its
// directory `directory` ("" for ours). Killed when `limit` has passed. Throws Error(kEnvironment)
// when it cannot be started.
ProcessResult run_process(const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment, const std::string& directory,
                          std::chrono::milliseconds limit);

}  // namespace kw::jit
