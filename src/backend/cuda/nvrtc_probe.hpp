// SPDX-License-Identifier: Apache-2.0
// Private: where libnvrtc is. Looks at directories only; opens nothing but, as the last resort,
// what the loader finds by name.
#pragma once

#include <string>
#include <vector>

#include "kernelwright/backend/cuda/toolchain_nvrtc.hpp"

namespace kw::jit {

struct NvrtcPlace {
  std::string library;                // resolved path, "" when there is none
  int major = 0;                      // by its name
  std::vector<std::string> builtins;  // resolved paths beside it
  std::vector<std::string> tried;     // "where: what was wrong", for messages
};

NvrtcPlace find_nvrtc(const NvrtcOptions& options);

}  // namespace kw::jit
