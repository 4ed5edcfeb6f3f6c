// SPDX-License-Identifier: Apache-2.0
// What both directions of rms_norm share: which columns of a row are a thread's, how it reads and
// writes them, and where it keeps their weights. Includes kit only.
#pragma once

#include "kernelwright/kit/cuda/bulk.cuh"
#include "kernelwright/kit/cuda/reduce.cuh"
#include "kernelwright/kit/cuda/rows.cuh"
#include "kernelwright/kit/cuda/unaligned.cuh"
#include "kernelwright/kit/cuda/vector.cuh"
#include "kernelwright/ops/rms_norm/cfg.hpp"

namespace kw::ops::rms_norm::cuda {

using namespace kit::cuda;

template <Element kElement>
struct StorageOf {
  using Type = float;
};
template <>
struct StorageOf<Element::kF16> {
  using Type = kit::cuda::f16;
};
template <>
struct StorageOf<Element::kBF16> {
  using Type = kit::cuda::bf16;
};

// This thread's share of the columns of a row; see RowTiling.
template <auto kCfg>
struct Share {
  using T = typename StorageOf<kCfg.element>::Type;
  using Weight = typename StorageOf<kCfg.weight>::Type;
  static constexpr RowTiling kTiling = row_tiling(kCfg);
  static constexpr int kWidth = kTiling.width, kVectors = kTiling.vectors;
  static constexpr int kThreads = kCfg.threads_per_row, kBlocks = kCfg.cluster;
  static constexpr bool kWeighted = weighted(kCfg.variant);
  using Access = Vector<T, kWidth>;
  using WeightAccess = Vector<Weight, kWidth>;

  int group;  // of rows within the block
  int lane;   // within the row, in this block
  int first;  // column of access 0

  Share() {
    group = static_cast<int>(threadIdx.x) / kThreads;
    lane = static_cast<int>(threadIdx.x) % kThreads;
    const int rank = kBlocks > 1 ? static_cast<int>(cluster_rank()) : 0;
    first = rank * kTiling.slice + lane * kWidth;
  }

  int column(int v) const { return first + v * kThreads * kWidth; }
  bool inside(int v) const {
    return kTiling.slice * kBlocks == kCfg.hidden || column(v) < kCfg.hidden;
  }
  // Elements from the row's base to `column`.
  static i64 at(int column, i64 step) {
    if constexpr (kCfg.unit_stride)
      return column;
    else
      return column * step;
  }
  // Whether access v of every thread ends within the row.
  static bool whole(int v) {
    return kTiling.slice * kBlocks == kCfg.hidden ||
           (kBlocks == 1 && (v + 1) * kThreads * kWidth <= kCfg.hidden);
  }
  // Lanes of a warp that hold neighbouring columns.
  using Unaligned = UnalignedRow<T, (kThreads < 32 ? kThreads : 32), kCfg.hidden>;

  // Access v. Columns beyond the row read as zero and are not written. Every thread of a warp
  // writes together; without `present` nothing is touched.
  Access read(const T* row, int v, i64 step, bool present) const {
    const int column = this->column(v);
    if constexpr (kCfg.unit_stride && !kCfg.aligned) {
      return Unaligned(row, lane).template load<kCfg.load>(column, whole(v), present);
    } else {
      present = present && column < kCfg.hidden;
      Access access;
      access.clear();
      if constexpr (kCfg.unit_stride) {
        if (present) access.template load<16, kCfg.load>(row + column);
      } else {
        load_elements(access, row, column, step, present);
      }
      return access;
    }
  }
  // Access v of a row whose slice a stage holds; `here` is this lane's place in an aligned slice.
  Access read_shared(const T* row, u32 here, int v, bool present) const {
    return Unaligned(row, lane).load_shared(here + static_cast<u32>(v) * kThreads * 16, column(v),
                                            whole(v), present);
  }
  void write(T* row, int v, i64 step, const float (&values)[kWidth], bool present) const {
    const int column = this->column(v);
    Access access;
    access.pack(values);
    if constexpr (kCfg.unit_stride && !kCfg.aligned) {
      Unaligned(row, lane).template store<kCfg.store>(access, column, whole(v), present);
    } else if constexpr (kCfg.unit_stride) {
      if (present && column < kCfg.hidden) access.template store<16, kCfg.store>(row + column);
    } else {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        if (!present || column + j >= kCfg.hidden) continue;
        const u32 word = access.element(j);
        store_words<sizeof(T), kCfg.store>(row + at(column + j, step), &word);
      }
    }
  }
  WeightAccess read_weight(const void* weight, int column, i64 step, bool present) const {
    WeightAccess access;
    access.clear();
    const auto* from = static_cast<const Weight*>(weight);
    const bool whole = kCfg.hidden % kWidth == 0 || column + kWidth <= kCfg.hidden;
    if constexpr (kCfg.unit_stride) {
      if (present && whole) access.template load<kCfg.weight_access>(from + column);
    }
    if constexpr (!kCfg.unit_stride || kCfg.hidden % kWidth != 0) {
      if (!kCfg.unit_stride || !whole) load_elements(access, from, column, step, present);
    }
    return access;
  }

 private:
  template <typename S>
  static void load_elements(Vector<S, kWidth>& access, const S* row, int column, i64 step,
                            bool present) {
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      if (!present || column + j >= kCfg.hidden) continue;
      u32 word;
      load_words<sizeof(S), CachePolicy::kDefault>(&word, row + at(column + j, step));
      access.put(j, word);
    }
  }
};

// The weights of a thread's columns: kept in registers, in shared memory, or read again at every
// use, or nothing.
enum class WeightUse { kNone, kKept, kShared, kReread };

template <typename Mine, WeightUse kUse>
struct Weights {
  typename Mine::WeightAccess access[kUse == WeightUse::kKept ? Mine::kVectors : 1];
  const void* weight;
  i64 step;
  u32 shared;

  // kShared: of kSlice columns at `shared`; other threads may read them after a barrier.
  Weights(const Mine& mine, const void* weight_, i64 step_, u32 shared_ = 0)
      : weight(weight_), step(step_), shared(shared_ + static_cast<u32>(mine.lane) * 16) {
    if constexpr (kUse == WeightUse::kShared) {
#pragma unroll 1
      for (int v = 0; v < Mine::kVectors && mine.group == 0; ++v) {
        const auto part = read(mine, v);
#pragma unroll
        for (int i = 0; i < kPieces; ++i) store_shared_words<16>(place(v, i), part.words + 4 * i);
      }
    }
    if constexpr (kUse == WeightUse::kKept) {
#pragma unroll
      for (int v = 0; v < Mine::kVectors; ++v) access[v] = read(mine, v);
    }
  }
  // Of access v; ones where there is no weight.
  void unpack(const Mine& mine, int v, float (&values)[Mine::kWidth]) const {
    if constexpr (kUse == WeightUse::kKept) {
      access[v].unpack(values);
    } else if constexpr (kUse == WeightUse::kShared) {
      typename Mine::WeightAccess part;
#pragma unroll
      for (int i = 0; i < kPieces; ++i) load_shared_words<16>(part.words + 4 * i, place(v, i));
      part.unpack(values);
    } else if constexpr (kUse == WeightUse::kReread) {
      read(mine, v).unpack(values);
    } else {
#pragma unroll
      for (int j = 0; j < Mine::kWidth; ++j) values[j] = 1.0F;
    }
  }

 private:
  // Pieces of 16 bytes; neighbouring lanes have neighbouring ones.
  static constexpr int kPieces = Mine::WeightAccess::kBytes / 16;
  u32 place(int v, int piece) const {
    return shared + static_cast<u32>((v * kPieces + piece) * Mine::kThreads * 16);
  }
  typename Mine::WeightAccess read(const Mine& mine, int v) const {
    return mine.read_weight(weight, mine.column(v), step, mine.inside(v));
  }
};

}  // namespace kw::ops::rms_norm::cuda
