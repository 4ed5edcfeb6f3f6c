// SPDX-License-Identifier: Apache-2.0
// Cache facts that decide how a kernel stores its output. Not for kernel bodies.
#pragma once

#include <algorithm>
#include <cstdint>

#include <unistd.h>

namespace kw::kit::cpu {

// Bytes of a last-level cache that `processors` can count on; 32 MiB where the size is unknown (0
// or less). A virtual machine sees the cache of the whole socket, most of which serves its
// neighbours: 2 processors that were told of 300 MB normalised 134 MB at 0.70 of the copy rate
// through it and at 1.02 past it. No processor has more than 16 MiB of its own but a few with most
// cores switched off.
constexpr std::int64_t share_of_cache(std::int64_t bytes, std::int64_t processors) noexcept {
  constexpr std::int64_t kUnknown = 32 << 20, kPerProcessor = 16 << 20;
  return std::min(bytes > 0 ? bytes : kUnknown,
                  kPerProcessor * std::max<std::int64_t>(processors, 1));
}

inline std::int64_t cache_share_bytes() noexcept {
  static const std::int64_t bytes =
      share_of_cache(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_NPROCESSORS_ONLN));
  return bytes;
}

}  // namespace kw::kit::cpu
