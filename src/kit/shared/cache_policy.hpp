// SPDX-License-Identifier: Apache-2.0
// How a kernel asks the caches to treat what it streams; a Cfg field of kernels. Freestanding.
#pragma once

namespace kw::kit {

enum class CachePolicy : int {
  kDefault,
  kNoAllocate,  // past L1
  kEvictFirst,  // past L1, and first to leave L2
};
inline constexpr const char* kCachePolicyNames[] = {"default", "no_allocate", "evict_first"};

}  // namespace kw::kit
