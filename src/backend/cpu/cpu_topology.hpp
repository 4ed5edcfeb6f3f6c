// SPDX-License-Identifier: Apache-2.0
// What the operating system says of the machine: processors to use, caches, memory.
#pragma once

#include <cstdint>
#include <string>

#include "kernelwright/runtime/memory.hpp"

namespace kw::runtime {

// Processors that this process may run on (of its main thread, so that a pinned caller does not
// count as one); at least 1.
int allowed_processors();

// Size of the largest-level data or unified cache under a sysfs cache directory; 0 when unknown.
std::int64_t last_level_cache_bytes(
    const std::string& directory = "/sys/devices/system/cpu/cpu0/cache");

// Total, and available without swapping.
MemoryInfo host_memory();

}  // namespace kw::runtime
