// SPDX-License-Identifier: Apache-2.0
// Architectures that kernels are compiled for without a device of theirs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernelwright/core/hardware.hpp"

namespace kw::runtime {

// "sm_80", "sm_90a", ...
std::vector<std::string> cuda_architectures();

// A device of this architecture as implementations choose for it: units and cache are those of its
// largest part in data centres, and its index is -1: no such device is here. Throws
// Error(kNotFound) with the architectures that are known.
Hardware cuda_hardware(std::string_view architecture);

// What devices of this capability have, in the words of Hardware::features.
std::vector<std::string> cuda_features(int capability);

}  // namespace kw::runtime
