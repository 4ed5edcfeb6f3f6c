// SPDX-License-Identifier: Apache-2.0
// Cache facts that decide how a kernel stores its output. Not for kernel bodies.
#pragma once

#include <cstdint>

#include <unistd.h>

namespace kw::kit::cpu {

// Bytes of the last cache level; 32 MiB where the system does not say.
inline std::int64_t last_level_cache_bytes() noexcept {
  static const std::int64_t bytes = [] {
    const long level3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return static_cast<std::int64_t>(level3 > 0 ? level3 : 32 << 20);
  }();
  return bytes;
}

}  // namespace kw::kit::cpu
