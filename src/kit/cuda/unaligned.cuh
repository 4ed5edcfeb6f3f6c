// SPDX-License-Identifier: Apache-2.0
// Rows at any address that a multiple of the element size allows. Lane by lane a row is cut into
// chunks of 16 bytes from its own start; memory is cut into blocks at multiples of 16. Loads take
// the words of 4 bytes that hold a chunk: the L1 cache merges them, and neither neighbours nor ends
// of a row need care. Stores would reach the L2 cache one by one, so lanes exchange words and store
// whole blocks. Nothing outside of a row is written; what is read lies in words that hold part of
// it, and ends where the row ends.
#pragma once

#include "kernelwright/kit/cuda/vector.cuh"

namespace kw::kit::cuda {

// Shifts kWords words, and of words[kWords] the low half, right by `odd` bytes: 0 or 2.
template <int kWords>
inline void shift_words(u32 (&out)[kWords], const u32 (&words)[kWords + 1], u32 odd) {
#pragma unroll
  for (int i = 0; i < kWords; ++i) out[i] = __funnelshift_r(words[i], words[i + 1], odd * 8);
}

// Chunks of a row of kElements that neighbouring lanes hold: kLanes lanes (a power of two up to
// 32), this one at `lane` of them. `whole` is true where no lane's chunk ends beyond the row.
template <typename T, int kLanes, int kElements>
struct UnalignedRow {
  static constexpr int kSize = static_cast<int>(sizeof(T)), kCount = 16 / kSize;
  static constexpr int kTail = kElements % kCount == 0 ? kCount : kElements % kCount;
  using Chunk = Vector<T, kCount>;

  const char* base;
  u32 shift;  // from the block before
  int lane;

  UnalignedRow(const T* row, int lane_of_row)
      : base(reinterpret_cast<const char*>(row)),
        shift(static_cast<u32>(reinterpret_cast<u64>(row)) & 15),
        lane(lane_of_row % kLanes) {}

  // The chunk at element `column`, a multiple of kCount. Elements beyond the row read as zero;
  // without `present` all do, and nothing is read.
  template <CachePolicy kPolicy>
  Chunk load(int column, bool whole, bool present) const {
    Chunk chunk;
    chunk.clear();
    // Predicates, not branches: loads of several chunks then go out before any is waited for.
    present = present && (whole || column < kElements);
    const bool last = !whole && kTail < kCount && column + kCount > kElements;
    const bool full = present && !last;
    if constexpr (kSize == 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (i < kTail ? present : full) {
          load_words<4, kPolicy>(chunk.words + i, base + column * 4 + i * 4);
        }
      }
    } else {
      const u32 odd = shift & 2;
      const char* const from = base - odd + column * 2;
      constexpr int kBorder = kTail / 2;  // the word that the row's end may cut
      const bool half = (odd == 0) == (kTail % 2 == 1);
      u32 words[5] = {};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const bool word = i < kBorder                     ? present
                          : i > kBorder || kTail % 2 == 0 ? full
                                                          : present && !(last && half);
        if (word) load_words<4, kPolicy>(words + i, from + i * 4);
        if (i == kBorder && present && last && half)
          load_words<2, kPolicy>(words + i, from + i * 4);
      }
      // Where nothing is shifted no half is needed, and any will do.
      if (full) load_words<2, kPolicy>(words + 4, from + odd * 8);
      shift_words<4>(chunk.words, words, odd);
    }
    return chunk;
  }

  // As load, from shared memory, which has the row in the same place of a block: `here` is where
  // the block that has the start of this lane's chunk would be if the row were aligned.
  Chunk load_shared(u32 here, int column, bool whole, bool present) const {
    Chunk chunk;
    chunk.clear();
    if (!present || (!whole && column >= kElements)) return chunk;
    // Two whole blocks and selection: words 16 bytes apart meet in banks four at a time, so that
    // the five of a chunk would take 20 turns of the memory instead of 8.
    const u32 odd = kSize == 4 ? 0 : shift & 2;
    const bool one = (shift & 4) != 0, two = (shift & 8) != 0;
    u32 words[8];
    load_shared_words<16>(words, here);
    load_shared_words<16>(words + 4, here + 16);
#pragma unroll
    for (int i = 0; i < 7; ++i) words[i] = one ? words[i + 1] : words[i];
    u32 taken[5];
#pragma unroll
    for (int i = 0; i < 5; ++i) taken[i] = two ? words[i + 2] : words[i];
    shift_words<4>(chunk.words, taken, odd);
    if (!whole && kTail < kCount && column + kCount > kElements) {
      constexpr int kBorder = kTail * kSize / 4;
#pragma unroll
      for (int i = kBorder; i < 4; ++i) {
        chunk.words[i] = i == kBorder && kSize == 2 && kTail % 2 == 1 ? chunk.words[i] & 0xffff : 0;
      }
    }
    return chunk;
  }

  // Every thread of the warp calls it together.
  template <CachePolicy kPolicy>
  void store(const Chunk& chunk, int column, bool whole, bool present) const {
    // A window of a warp that lies beyond the row.
    if (kLanes == 32 && !whole && column - lane * kCount >= kElements) return;
    constexpr int kPerWord = 4 / kSize;
    const int skipped = static_cast<int>(shift / 4);
    const u32 odd = kSize == 4 ? 0 : shift & 2;
    // Words from the chunk as memory has them: the first holds the half that the lane before lends.
    u32 words[4];
    if constexpr (kSize == 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) words[i] = chunk.words[i];
    } else {
      u32 before = __shfl_up_sync(0xffffffffU, chunk.words[3], 1, kLanes);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        words[i] = __funnelshift_l(before, chunk.words[i], odd * 8);
        before = chunk.words[i];
      }
    }
    // Rotated, so that word i of a block is word i of this lane or of the one before; lane 0 gets
    // the words of the last lane, whose block is the one after the window.
    const bool one = (skipped & 1) != 0, two = (skipped & 2) != 0;
    u32 turned[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) turned[i] = one ? words[(i + 3) % 4] : words[i];
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = two ? turned[(i + 2) % 4] : turned[i];
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      words[i] = __shfl_sync(0xffffffffU, words[i], i < skipped ? lane + kLanes - 1 : lane, kLanes);
    }
    if (!present) return;
    char* const block = const_cast<char*>(base) - shift + column * kSize;
    // Elements that follow the first one of the block.
    const int left = kElements - column + static_cast<int>(shift) / kSize;
    if ((lane > 0 || shift == 0) && (whole || left >= kCount)) {
      store_words<16, kPolicy>(block, words);
    } else if (lane == 0 || left > 0) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const bool after = lane == 0 && i < skipped;
        const bool inside = whole || left >= (i + 1) * kPerWord + (after ? kLanes * kCount : 0);
        if (inside && !(odd != 0 && lane == 0 && i == skipped)) {
          store_words<4, kPolicy>(block + i * 4 + (after ? kLanes * 16 : 0), words + i);
        }
      }
    }
    if constexpr (kSize == 2) {  // halves that share their word with others
      char* const to = const_cast<char*>(base) + column * kSize;
      if (odd != 0 && lane == 0 && (whole || column < kElements)) {
        store_words<2, kPolicy>(to, chunk.words);
      }
      const bool ends = !whole && column < kElements && column + kCount >= kElements;
      if ((ends && kTail < kCount)
              ? odd == (kTail % 2 == 0 ? 2U : 0U)
              : odd != 0 && (ends || lane == kLanes - 1) && (whole || column < kElements)) {
        const int index = ends ? kTail - 1 : kCount - 1;
        const u32 word = ends ? chunk.element(kTail - 1) : chunk.element(kCount - 1);
        store_words<2, kPolicy>(to + index * kSize, &word);
      }
    }
  }
};

}  // namespace kw::kit::cuda
