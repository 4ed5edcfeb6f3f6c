// SPDX-License-Identifier: Apache-2.0
// kCount neighbouring elements of T in registers, packed as in memory: loaded and stored in pieces
// of the access width that alignment allows, computed on as f32.
#pragma once

#include "kernelwright/kit/cuda/cache.cuh"

namespace kw::kit::cuda {

template <typename T, int kCount>
struct Vector {
  static constexpr int kBytes = kCount * static_cast<int>(sizeof(T));
  static constexpr int kWords = (kBytes + 3) / 4;
  u32 words[kWords];

  // Pieces of min(kAccess, kBytes) bytes; `address` is a multiple of that. Pieces of 2 bytes come
  // by the words of 4 that hold them.
  template <int kAccess, CachePolicy kPolicy = CachePolicy::kDefault>
  void load(const void* address) {
    constexpr int kPiece = kAccess < kBytes ? kAccess : kBytes;
    if constexpr (kPiece >= 4 || kPiece == kBytes) {
#pragma unroll
      for (int i = 0; i < kBytes / kPiece; ++i) {
        load_words<kPiece, kPolicy>(words + i * kPiece / 4,
                                    static_cast<const char*>(address) + i * kPiece);
      }
    } else {
      // Words that hold the elements, shifted: half the loads and registers of pairs.
      const u64 first = reinterpret_cast<u64>(address) & ~3ULL;
      const u32 odd = static_cast<u32>(reinterpret_cast<u64>(address)) & 2;
      u32 last = 0;
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        load_words<4, kPolicy>(words + i, reinterpret_cast<void*>(first + 4ULL * i));
      }
      if (odd != 0) load_words<4, kPolicy>(&last, reinterpret_cast<void*>(first + 4ULL * kWords));
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        words[i] = __funnelshift_r(words[i], i + 1 < kWords ? words[i + 1] : last, odd * 8);
      }
    }
  }

  template <int kAccess, CachePolicy kPolicy = CachePolicy::kDefault>
  void store(void* address) const {
    static_assert(kAccess == kBytes, "outputs are stored at the access width");
    store_words<kBytes, kPolicy>(address, words);
  }

  // From shared memory at `address` (a multiple of 16), kBytes == 16.
  void load_shared(u32 address) { load_shared_words<kBytes>(words, address); }

  // Element i as a word, as load_words and store_words have it.
  u32 element(int i) const { return sizeof(T) == 4 ? words[i] : words[i / 2] >> i % 2 * 16; }
  // Element i of a cleared vector.
  void put(int i, u32 word) {
    if constexpr (sizeof(T) == 4)
      words[i] = word;
    else
      words[i / 2] |= word << i % 2 * 16;
  }

  void clear() {
#pragma unroll
    for (int i = 0; i < kWords; ++i) words[i] = 0;
  }

  void unpack(float (&values)[kCount]) const {
    if constexpr (sizeof(T) == 4 || kCount == 1) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) values[i] = to_f32<T>(words[i]);
    } else {
#pragma unroll
      for (int i = 0; i < kWords; ++i) unpack_pair<T>(words[i], values[2 * i], values[2 * i + 1]);
    }
  }

  // Rounds to T.
  void pack(const float (&values)[kCount]) {
    if constexpr (sizeof(T) == 4 || kCount == 1) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) words[i] = from_f32<T>(values[i]);
    } else {
#pragma unroll
      for (int i = 0; i < kWords; ++i) words[i] = pack_pair<T>(values[2 * i], values[2 * i + 1]);
    }
  }
};

}  // namespace kw::kit::cuda
