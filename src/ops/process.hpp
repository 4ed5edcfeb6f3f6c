// SPDX-License-Identifier: Apache-2.0
// The devices and contexts of this process, for front ends whose callers name a device or hand over
// a tensor. Opened at first use and never closed: slots and captured graphs may outlive main.
#pragma once

#include <memory>
#include <string_view>

#include "kernelwright/core/context.hpp"
#include "kernelwright/runtime/device.hpp"

namespace kw {

// A device of the caller's own. Throws Error(kEnvironment) when this build or machine lacks it.
std::unique_ptr<runtime::Device> open_device(runtime::DeviceName name);

// "cpu", "cuda", "cuda:1"; "auto" is cuda:0 where the driver shows one, else the CPU. Throws
// Error(kEnvironment) with the reason when it is not there.
runtime::Device& process_device(std::string_view name);
runtime::Device& process_device(runtime::DeviceName name);

// The context of one kind of device: the process default if that is of this kind, else one beside
// it with the same settings, on device `index` of its kind when it is made here. Throws
// Error(kConflict) before initialize().
Context& process_context(runtime::DeviceName name);
// The same by name; "" is the process default.
Context& process_context(std::string_view device);

}  // namespace kw
