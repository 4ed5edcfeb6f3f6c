// SPDX-License-Identifier: Apache-2.0
// Global loads and stores of 2 to 16 bytes with a cache policy. Loads are of data that no thread
// writes during the kernel (ld.global.nc).
#pragma once

#include "kernelwright/kit/cuda/types.cuh"
#include "kernelwright/kit/shared/cache_policy.hpp"

namespace kw::kit::cuda {

#define KW_LOAD(modifiers)                                                                   \
  if constexpr (kBytes == 16) {                                                              \
    asm volatile("ld.global.nc" modifiers ".v4.b32 {%0, %1, %2, %3}, [%4];"                  \
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])            \
                 : "l"(address));                                                            \
  } else if constexpr (kBytes == 8) {                                                        \
    asm volatile("ld.global.nc" modifiers ".v2.b32 {%0, %1}, [%2];"                          \
                 : "=r"(words[0]), "=r"(words[1])                                            \
                 : "l"(address));                                                            \
  } else if constexpr (kBytes == 4) {                                                        \
    asm volatile("ld.global.nc" modifiers ".b32 %0, [%1];" : "=r"(words[0]) : "l"(address)); \
  } else {                                                                                   \
    unsigned short half;                                                                     \
    asm volatile("ld.global.nc" modifiers ".b16 %0, [%1];" : "=h"(half) : "l"(address));     \
    words[0] = half;                                                                         \
  }

#define KW_STORE(modifiers)                                                                        \
  if constexpr (kBytes == 16) {                                                                    \
    asm volatile("st.global" modifiers ".v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address),           \
                 "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])                        \
                 : "memory");                                                                      \
  } else if constexpr (kBytes == 8) {                                                              \
    asm volatile("st.global" modifiers ".v2.b32 [%0], {%1, %2};" ::"l"(address), "r"(words[0]),    \
                 "r"(words[1])                                                                     \
                 : "memory");                                                                      \
  } else if constexpr (kBytes == 4) {                                                              \
    asm volatile("st.global" modifiers ".b32 [%0], %1;" ::"l"(address), "r"(words[0]) : "memory"); \
  } else {                                                                                         \
    asm volatile("st.global" modifiers ".b16 [%0], %1;" ::"l"(address),                            \
                 "h"(static_cast<unsigned short>(words[0]))                                        \
                 : "memory");                                                                      \
  }

// `address` is a multiple of kBytes. A 2-byte value fills the low half of its word.
template <int kBytes, CachePolicy kPolicy>
inline void load_words(u32* words, const void* address) {
  if constexpr (kPolicy == CachePolicy::kNoAllocate) {
    KW_LOAD(".L1::no_allocate")
  } else if constexpr (kPolicy == CachePolicy::kEvictFirst) {
    KW_LOAD(".L1::evict_first")
  } else {
    KW_LOAD("")
  }
}

template <int kBytes, CachePolicy kPolicy>
inline void store_words(void* address, const u32* words) {
  if constexpr (kPolicy == CachePolicy::kNoAllocate) {
    KW_STORE(".L1::no_allocate")
  } else if constexpr (kPolicy == CachePolicy::kEvictFirst) {
    KW_STORE(".cs")
  } else {
    KW_STORE("")
  }
}

// 16 bytes of shared memory; `address` is a multiple of that.
template <int kBytes>
inline void load_shared_words(u32* words, u32 address) {
  static_assert(kBytes == 16);
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address)
               : "memory");
}
template <int kBytes>
inline void store_shared_words(u32 address, const u32* words) {
  static_assert(kBytes == 16);
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(words[0]),
               "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

#undef KW_LOAD
#undef KW_STORE

}  // namespace kw::kit::cuda
