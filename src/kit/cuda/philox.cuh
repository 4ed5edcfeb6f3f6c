// SPDX-License-Identifier: Apache-2.0
// Counter-based random words, Philox4x32-10: bit for bit those of suite/random.hpp, so that a fill
// on the device equals the fill on the host.
#pragma once

#include "kernelwright/kit/cuda/types.cuh"

namespace kw::kit::cuda {

constexpr u64 mix64(u64 x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

struct PhiloxBlock {
  u32 words[4];
};

// `block` distinguishes several words of randomness for one counter.
inline PhiloxBlock philox(u64 key, u64 counter, u32 block) {
  u32 w0 = static_cast<u32>(counter), w1 = static_cast<u32>(counter >> 32), w2 = block, w3 = 0;
  u32 k0 = static_cast<u32>(key), k1 = static_cast<u32>(key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const u64 p0 = u64{0xd2511f53U} * w0, p1 = u64{0xcd9e8d57U} * w2;
    const u32 next0 = static_cast<u32>(p1 >> 32) ^ w1 ^ k0;
    const u32 next2 = static_cast<u32>(p0 >> 32) ^ w3 ^ k1;
    w0 = next0;
    w1 = static_cast<u32>(p1);
    w2 = next2;
    w3 = static_cast<u32>(p0);
    k0 += 0x9e3779b9U;
    k1 += 0xbb67ae85U;
  }
  return {{w0, w1, w2, w3}};
}

}  // namespace kw::kit::cuda
