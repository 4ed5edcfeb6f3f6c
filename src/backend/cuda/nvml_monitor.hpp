// SPDX-License-Identifier: Apache-2.0
// Readings of an NVIDIA GPU through its management library, opened with dlopen and declared here:
// no header of the toolkit. Functions that this driver lacks leave their readings empty. Never sets
// anything.
#pragma once

#include <memory>
#include <string>

#include "kernelwright/runtime/monitor.hpp"

namespace kw::runtime {

// The GPU of the CUDA device `index`. Always an object: without the library, or where it does not
// know the device, readings are empty and the facts say why.
std::shared_ptr<Monitor> open_cuda_monitor(int index);

// The same by PCI bus address, "0000:3b:00.0", with the library at `library`.
std::shared_ptr<Monitor> open_nvml_monitor(const std::string& bus_address, const char* library);

}  // namespace kw::runtime
