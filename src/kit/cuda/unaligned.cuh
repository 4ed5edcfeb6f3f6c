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
// at `lane` of them. Every thread of the warp calls load and store together.
template <typename T, int kLanes>
struct UnalignedRow {
  static constexpr int kSize = static_cast<int>(sizeof(T)), kCount = 16 / kSize;
  using Chunk = Vector<T, kCount>;

  u64 base;  // address of the row
  u64 end;   // behind its last element
  int lane;

  UnalignedRow(const T* row, int elements, int lane_of_row)
      : base(reinterpret_cast<u64>(row)),
        end(base + static_cast<u64>(elements) * kSize),
        lane(lane_of_row % kLanes) {}

  u32 shift() const { return static_cast<u32>(base) & 15; }
  // Of the block in which the chunk at `column`, a multiple of kCount, starts.
  u64 block(int column) const { return base - shift() + static_cast<u64>(column) * kSize; }

  // Elements of the row beyond its end read as zero; without `present` all do, and nothing is read.
  template <CachePolicy kPolicy>
  Chunk load(int column, bool present) const {
    Chunk own, next, chunk;
    own.clear();
    const u64 at = block(column);
    if (present && at + 16 <= end) own.template load<16, kPolicy>(reinterpret_cast<void*>(at));
#pragma unroll
    for (int i = 0; i < 4; ++i) next.words[i] = __shfl_down_sync(0xffffffffU, own.words[i], 1);
    const bool split = shift() != 0;
    const bool whole = present && at + (split ? 32 : 16) <= end;
    if (whole && split && lane == kLanes - 1) {
      next.template load<16, kPolicy>(reinterpret_cast<void*>(at + 16));
    }
    shift_chunk(chunk.words, own.words, next.words, shift());
    if (!whole) {
      chunk.clear();
      load_elements<kPolicy>(chunk, column, present);
    }
    return chunk;
  }

  template <CachePolicy kPolicy>
  void store(const Chunk& chunk, int column, bool present) const {
    Chunk before, out;
#pragma unroll
    for (int i = 0; i < 4; ++i) before.words[i] = __shfl_up_sync(0xffffffffU, chunk.words[i], 1);
    const u64 at = block(column);
    const bool split = shift() != 0;
    // Whether the block is stored by this lane, and the next one by the next lane.
    const bool whole = present && at + 16 <= end && !(split && lane == 0);
    const bool next_whole = at + 32 <= end && lane < kLanes - 1;
    if (split)
      shift_chunk(out.words, before.words, chunk.words, 16 - shift());
    else
      out = chunk;
    if (whole) out.template store<16, kPolicy>(reinterpret_cast<void*>(at));
    const u64 first = base + static_cast<u64>(column) * kSize;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const u64 address = first + static_cast<u64>(i) * kSize;
      const bool stored = address < at + 16 ? whole : next_whole;
      if (present && !stored && address < end) {
        const u32 word = chunk.element(i);
        store_words<kSize, kPolicy>(reinterpret_cast<void*>(address), &word);
      }
    }
  }

 private:
  template <CachePolicy kPolicy>
  void load_elements(Chunk& chunk, int column, bool present) const {
    const u64 first = base + static_cast<u64>(column) * kSize;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const u64 address = first + static_cast<u64>(i) * kSize;
      if (!present || address >= end) continue;
      u32 word;
      load_words<kSize, kPolicy>(&word, reinterpret_cast<void*>(address));
      chunk.put(i, word);
    }
  }
};

}  // namespace kw::kit::cuda
