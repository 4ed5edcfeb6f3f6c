// SPDX-License-Identifier: Apache-2.0
// The process environment as one value. Nothing else in the tree calls getenv; a variable that is
// set to the empty string counts as not set.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernelwright/base/log.hpp"

namespace kw {

// A KW_ variable that nothing reads: a typo until proven otherwise.
struct UnknownVariable {
  std::string name;
  std::string nearest;  // "" when no known name is close
};

// One line of `kw doctor`.
struct EnvironmentRow {
  std::string name;
  std::string value;  // in effect, in words when it is a default
  bool set = false;
  std::string meaning;
};

// Paths are as given; whoever opens one reports what is wrong with it.
struct Environment {
  std::map<std::string, std::string> overrides;  // operation in lower case -> value
  std::string cache_dir;                         // "" when not even HOME is known
  bool cache_readonly = false;
  std::vector<std::string> packs;
  std::string arch;  // "sm_90a"; "" for the device's own
  std::string nvrtc;
  std::string cxx;
  std::string cuda_path;  // CUDA_PATH: a toolkit, which may bring libnvrtc
  std::string nvtx_tool;  // NVTX_INJECTION64_PATH: the library of a profiler that takes ranges
  std::vector<std::string> jit_flags;
  std::string source_root;
  std::optional<LogLevel> log_level = LogLevel::kWarning;  // nullopt: silent
  std::optional<int> num_threads;
  std::vector<std::string> plugins;

  std::vector<UnknownVariable> unknown;
  std::vector<EnvironmentRow> table;  // every variable, in the order of DESIGN 12

  // From "NAME=value" entries; the first of equal names counts, as for getenv. Throws
  // Error(kInvalidArgument) for a malformed value, naming variable, value and what is accepted.
  static Environment read(const std::vector<std::string>& entries);
};

// This process's, read at the first call. Throws as read() does, and then again at the next call.
const Environment& environment();

// Whether a terminal is to stay without colour (no-color.org): NO_COLOR is set to anything, or TERM
// is "dumb". Apart from the above, for it must have an answer also when a KW_ variable is
// malformed.
bool refuses_colour(const std::vector<std::string>& entries);
bool refuses_colour();  // of this process

}  // namespace kw
