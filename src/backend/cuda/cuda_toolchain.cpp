// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/backend/cuda/cuda_toolchain.hpp"

#include "kernelwright/backend/cuda/cuda_device.hpp"
#include "kernelwright/backend/cuda/toolchain_nvrtc.hpp"

namespace kw::jit {

Toolchain& cuda_toolchain() {
  static NvrtcToolchain toolchain(nvrtc_options(environment(), runtime::cuda_driver_version()));
  return toolchain;
}

std::string cuda_arch(const Hardware& hardware) {
  const std::string& pinned = environment().arch;
  if (!pinned.empty() && hardware.index >= 0) return pinned;
  return "sm_" + std::to_string(hardware.capability) + (hardware.capability >= 90 ? "a" : "");
}

}  // namespace kw::jit
