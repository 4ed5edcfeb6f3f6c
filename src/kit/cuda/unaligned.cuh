// SPDX-License-Identifier: Apache-2.0
// Rows at any address, moved in aligned 16-byte blocks. Lane by lane a row is cut into chunks of 16
// bytes from its own start; memory is cut into blocks at multiples of 16. A chunk lies in two
// blocks, so a lane loads one block, takes the next one from its neighbour and shifts; stores go
// the other way. Elements at the ends of a row and of a warp's window move one by one. Nothing
// outside of a row is written; what is read lies in blocks that hold part of the row.
#pragma once

#include "kernelwright/kit/cuda/vector.cuh"

namespace kw::kit::cuda {

// 16 bytes from byte `shift` (below 16) of the 32 in `low`, `high`.
inline void shift_chunk(u32 (&out)[4], const u32 (&low)[4], const u32 (&high)[4], u32 shift) {
  u32 words[8];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    words[i] = low[i];
    words[i + 4] = high[i];
  }
  // Whole words by selection, for lanes of one warp may shift differently.
#pragma unroll
  for (int i = 0; i < 6; ++i) words[i] = shift & 8 ? words[i + 2] : words[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) words[i] = shift & 4 ? words[i + 1] : words[i];
#pragma unroll
  for (int i = 0; i < 4; ++i) out[i] = __funnelshift_r(words[i], words[i + 1], shift % 4 * 8);
}

// Chunks of one row that neighbouring lanes hold: kLanes lanes (a power of two up to 32), this one
// at `lane` of them. Every thread of the warp calls load and store together. A row has less than
// 2^31 bytes; offsets count bytes from its start, and blocks start at -shift, 16 - shift, ...
template <typename T, int kLanes>
struct UnalignedRow {
  static constexpr int kSize = static_cast<int>(sizeof(T)), kCount = 16 / kSize;
  using Chunk = Vector<T, kCount>;

  const char* base;
  int shift;
  int lane;

  UnalignedRow(const T* row, int lane_of_row)
      : base(reinterpret_cast<const char*>(row)),
        shift(static_cast<int>(reinterpret_cast<u64>(row) & 15)),
        lane(lane_of_row % kLanes) {}

  // The chunk at element `column`, a multiple of kCount, of `elements`. Elements beyond the row
  // read as zero; without `present` all do, and nothing is read.
  template <CachePolicy kPolicy>
  Chunk load(int column, int elements, bool present) const {
    const int end = present ? elements * kSize : 0, block = column * kSize - shift;
    Chunk own, next, chunk;
    own.clear();
    if (block + 16 <= end) own.template load<16, kPolicy>(base + block);
#pragma unroll
    for (int i = 0; i < 4; ++i) next.words[i] = __shfl_down_sync(0xffffffffU, own.words[i], 1);
    const bool whole = block + (shift != 0 ? 32 : 16) <= end;
    if (whole && shift != 0 && lane == kLanes - 1) {
      next.template load<16, kPolicy>(base + block + 16);
    }
    shift_chunk(chunk.words, own.words, next.words, static_cast<u32>(shift));
    if (!whole) {
      chunk.clear();
      const int left = end - column * kSize;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (i * kSize >= left) continue;
        u32 word;
        load_words<kSize, kPolicy>(&word, base + column * kSize + i * kSize);
        chunk.put(i, word);
      }
    }
    return chunk;
  }

  template <CachePolicy kPolicy>
  void store(const Chunk& chunk, int column, int elements, bool present) const {
    const int end = present ? elements * kSize : 0, block = column * kSize - shift;
    char* const to = const_cast<char*>(base);
    Chunk before, out;
#pragma unroll
    for (int i = 0; i < 4; ++i) before.words[i] = __shfl_up_sync(0xffffffffU, chunk.words[i], 1);
    // Whether this lane stores its first block whole, and the next lane the next block.
    const bool whole = block + 16 <= end && (shift == 0 || lane > 0);
    const bool next_whole = block + 32 <= end && lane < kLanes - 1;
    shift_chunk(out.words, before.words, chunk.words, static_cast<u32>(16 - shift) & 15);
    if (shift == 0) out = chunk;
    if (whole) out.template store<16, kPolicy>(to + block);
    // Elements of this chunk that no whole block holds, one by one: from `first` up to `last`.
    const int border = 16 - shift;
    const int first = whole ? border : 0;
    int last = next_whole || shift == 0 ? border : 16;
    if (end - column * kSize < last) last = end - column * kSize;
    if (first >= last) return;
    char* const element = to + column * kSize;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (i * kSize < first || i * kSize >= last) continue;
      const u32 word = chunk.element(i);
      store_words<kSize, kPolicy>(element + i * kSize, &word);
    }
  }
};

}  // namespace kw::kit::cuda
