// SPDX-License-Identifier: Apache-2.0
// What this process compiles CUDA units with, and for which architecture.
#pragma once

#include <string>

#include "kernelwright/core/hardware.hpp"
#include "kernelwright/jit/toolchain.hpp"

namespace kw::jit {

// NVRTC by KW_NVRTC and the driver that is here. Nothing is opened before it compiles.
Toolchain& cuda_toolchain();

// "sm_90a" for capability 90, from sm_90 on with the suffix of instructions that only this
// architecture has. KW_ARCH, where it is set, for every device that is here.
std::string cuda_arch(const Hardware& hardware);

}  // namespace kw::jit
