// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of rms_norm and rms_norm_backward: one unit is this file, a constexpr Cfg and
// one entry that calls forward, backward or reduce_dweight. All arithmetic is f32. Includes kit
// only.
#pragma once

#include "kernelwright/kit/cuda/bulk.cuh"
#include "kernelwright/kit/cuda/reduce.cuh"
#include "kernelwright/kit/cuda/rows.cuh"
#include "kernelwright/kit/cuda/unaligned.cuh"
#include "kernelwright/kit/cuda/vector.cuh"
#include "kernelwright/ops/rms_norm/cfg.hpp"
#include "kernelwright/ops/rms_norm/cuda_rows_body.cuh"

namespace kw::ops::rms_norm::cuda {

// y of one access, in the rounding order of the variant. `scale` is r, rounded in `unweighted`.
template <auto kCfg, typename Mine>
inline void normalise(float (&values)[Mine::kWidth], float scale,
                      const float (&weight)[Mine::kWidth]) {
#pragma unroll
  for (int j = 0; j < Mine::kWidth; ++j) values[j] *= scale;
  if constexpr (Mine::kWeighted) {
    if constexpr (kCfg.variant == Variant::kStandard) {
      typename Mine::Access rounded_values;
      rounded_values.pack(values);
      rounded_values.unpack(values);
    }
#pragma unroll
    for (int j = 0; j < Mine::kWidth; ++j) {
      values[j] *= kCfg.variant == Variant::kQwen3_5 ? 1.0F + weight[j] : weight[j];
    }
  }
}

template <int kWidth>
inline void add_squares(float& sum, const float (&values)[kWidth]) {
  float even = 0, odd = 0;  // two chains
#pragma unroll
  for (int j = 0; j < kWidth; j += 2) {
    even = fma(values[j], values[j], even);
    if (j + 1 < kWidth) odd = fma(values[j + 1], values[j + 1], odd);
  }
  sum += even + odd;
}

template <auto kCfg>
inline float reciprocal_rms(float sum_of_squares, float eps) {
  return reciprocal_root(sum_of_squares * (1.0F / static_cast<float>(kCfg.hidden)) + eps);
}

template <CudaForwardCfg kCfg>
inline float forward_scale(float r) {
  using T = typename Share<kCfg>::T;
  return kCfg.variant == Variant::kUnweighted ? rounded<T>(r) : r;
}

// Rows stay in registers: read once, written once.
template <CudaForwardCfg kCfg>
inline void forward_rows(const CudaForwardArgs& args) {
  using Mine = Share<kCfg>;
  using T = typename Mine::T;
  constexpr int kVectors = Mine::kVectors, kWidth = Mine::kWidth, kUnroll = kCfg.unroll;
  constexpr int kSlots = kRowSumSlots<Mine::kThreads, Mine::kBlocks, kUnroll>;
  __shared__ float slots[kSlots > 0 ? kSlots * kCfg.rows_per_block : 1];
  if constexpr (Mine::kBlocks > 1) cluster_arrive();
  const Mine mine;
  const i64 base = static_cast<i64>(blockIdx.x / Mine::kBlocks) * group_rows(kCfg) + mine.group;

  typename Mine::Access x[kUnroll][kVectors];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const i64 row = base + u * kCfg.rows_per_block;
    const RowIndex<kCfg.leading> index(row, args.map);
    const T* from = static_cast<const T*>(args.x) + index.offset(args.x_rows);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      x[u][v] = mine.read(from, v, args.x_step, row < args.rows);
    }
  }
  constexpr WeightUse kUse = !Mine::kWeighted ? WeightUse::kNone
                             : kVectors <= 4  ? WeightUse::kKept
                                              : WeightUse::kReread;
  const Weights<Mine, kUse> weights(mine, args.weight, args.weight_step);

  float sums[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    sums[u] = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      float values[kWidth];
      x[u][v].unpack(values);
      add_squares(sums[u], values);
    }
  }
  if constexpr (Mine::kBlocks > 1) cluster_wait();  // the peers have started
  row_sum<Mine::kThreads, Mine::kBlocks>(sums, slots + mine.group * kSlots);

#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const i64 row = base + u * kCfg.rows_per_block;
    const bool present = row < args.rows;
    const RowIndex<kCfg.leading> index(row, args.map);
    const float r = reciprocal_rms<kCfg>(sums[u], args.eps);
    const float scale = forward_scale<kCfg>(r);
    T* to = static_cast<T*>(args.y) + index.offset(args.y_rows);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      float values[kWidth];
      x[u][v].unpack(values);
      float weight[kWidth];
      weights.unpack(mine, v, weight);
      normalise<kCfg, Mine>(values, scale, weight);
      mine.write(to, v, args.y_step, values, present);
    }
    if (kCfg.want_rstd && present && mine.first == 0) args.rstd[index.offset(args.rstd_rows)] = r;
  }
}

// A row per block, read twice: any width without a cluster.
template <CudaForwardCfg kCfg>
inline void forward_reload(const CudaForwardArgs& args) {
  using Mine = Share<kCfg>;
  using T = typename Mine::T;
  constexpr int kWidth = Mine::kWidth;
  __shared__ float slots[kRowSumSlots<Mine::kThreads, 1, 1> + 1];
  const Mine mine;
  const RowIndex<kCfg.leading> index(blockIdx.x, args.map);
  const T* from = static_cast<const T*>(args.x) + index.offset(args.x_rows);
  T* to = static_cast<T*>(args.y) + index.offset(args.y_rows);
  float sums[1] = {0};
#pragma unroll 4
  for (int v = 0; v < Mine::kVectors; ++v) {
    float values[kWidth];
    mine.read(from, v, args.x_step, true).unpack(values);
    add_squares(sums[0], values);
  }
  row_sum<Mine::kThreads, 1>(sums, slots);
  const float r = reciprocal_rms<kCfg>(sums[0], args.eps);
  const float scale = forward_scale<kCfg>(r);
  constexpr WeightUse kUse = Mine::kWeighted ? WeightUse::kReread : WeightUse::kNone;
  const Weights<Mine, kUse> weights(mine, args.weight, args.weight_step);
#pragma unroll 4
  for (int v = 0; v < Mine::kVectors; ++v) {
    float values[kWidth], weight[kWidth];
    mine.read(from, v, args.x_step, true).unpack(values);
    weights.unpack(mine, v, weight);
    normalise<kCfg, Mine>(values, scale, weight);
    mine.write(to, v, args.y_step, values, true);
  }
  if (kCfg.want_rstd && mine.first == 0) args.rstd[index.offset(args.rstd_rows)] = r;
}

template <CudaForwardCfg kCfg>
inline void forward(const CudaForwardArgs& args) {
  static_assert(objection(kCfg) == nullptr);
  if constexpr (kCfg.reload)
    forward_reload<kCfg>(args);
  else
    forward_rows<kCfg>(args);
}

// Backward. Per row: r, and c = mean(m * xh) = r * sum(m * x) / C; then dx = r * (m - xh * c).
// A Cfg without rstd sums x^2 beside m * x in the same exchange.
template <CudaBackwardCfg kCfg>
struct RowTerms {
  static constexpr bool kSquares = !kCfg.has_rstd, kDot = kCfg.want_dx;
  static constexpr int kValues = (kSquares ? 1 : 0) + (kDot ? 1 : 0);
  static constexpr int kSize = kValues > 0 ? kValues : 1;
  static constexpr int kDotAt = kSquares ? 1 : 0;

  // m in place of dy.
  template <int kWidth>
  static void upstream(float (&dy)[kWidth], const float (&weight)[kWidth]) {
    if constexpr (weighted(kCfg.variant)) {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        dy[j] *= kCfg.variant == Variant::kQwen3_5 ? 1.0F + weight[j] : weight[j];
      }
    }
  }

  template <int kWidth>
  static void add(float* sums, const float (&x)[kWidth], float (&dy)[kWidth],
                  const float (&weight)[kWidth]) {
    if constexpr (kSquares) add_squares(sums[0], x);
    if constexpr (kDot) {
      upstream(dy, weight);
      float even = 0, odd = 0;
#pragma unroll
      for (int j = 0; j < kWidth; j += 2) {
        even = fma(dy[j], x[j], even);
        if (j + 1 < kWidth) odd = fma(dy[j + 1], x[j + 1], odd);
      }
      sums[kDotAt] += even + odd;
    }
  }

  float r, c;

  RowTerms(const float* sums, float rstd, float eps) {
    r = kSquares ? reciprocal_rms<kCfg>(sums[0], eps) : rstd;
    c = kDot ? sums[kDotAt] * (1.0F / static_cast<float>(kCfg.hidden)) * r : 0.0F;
  }

  // dx of one access into x, dy * xh into dy.
  template <int kWidth>
  void apply(float (&x)[kWidth], float (&dy)[kWidth], const float (&weight)[kWidth]) const {
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      const float xh = x[j] * r;
      float m = dy[j];
      if constexpr (weighted(kCfg.variant)) {
        m *= kCfg.variant == Variant::kQwen3_5 ? 1.0F + weight[j] : weight[j];
      }
      x[j] = r * (m - xh * c);
      dy[j] *= xh;
    }
  }
};

constexpr WeightUse weight_use(const CudaBackwardCfg& cfg) {
  if (!weighted(cfg.variant) || !cfg.want_dx) return WeightUse::kNone;
  return cfg.weights == WeightsIn::kRegisters ? WeightUse::kKept
         : cfg.weights == WeightsIn::kShared  ? WeightUse::kShared
                                              : WeightUse::kReread;
}

// The rows that a thread works on: up to two accesses a row stay in registers, more are read again
// when the sums are known.
template <CudaBackwardCfg kCfg>
struct BackwardRows {
  using Mine = Share<kCfg>;
  using T = typename Mine::T;
  static constexpr bool kKept = Mine::kVectors <= 2;
  static constexpr int kHeld = kKept ? Mine::kVectors : 1;
  typename Mine::Access x[kCfg.unroll][kHeld], dy[kCfg.unroll][kHeld];
  float rstd[kCfg.unroll];
  const T* from_x[kCfg.unroll];
  const T* from_dy[kCfg.unroll];
  bool present[kCfg.unroll];

  void load(const Mine& mine, const CudaBackwardArgs& args, i64 first_row) {
#pragma unroll
    for (int u = 0; u < kCfg.unroll; ++u) {
      const i64 row = first_row + u * kCfg.rows_per_block;
      present[u] = row < args.rows;
      const RowIndex<kCfg.leading> index(row, args.map);
      from_x[u] = static_cast<const T*>(args.x) + index.offset(args.x_rows);
      from_dy[u] = static_cast<const T*>(args.dy) + index.offset(args.dy_rows);
      rstd[u] = 0;
      if (kCfg.has_rstd && present[u]) rstd[u] = args.rstd[index.offset(args.rstd_rows)];
      if constexpr (!kKept) continue;
#pragma unroll
      for (int v = 0; v < Mine::kVectors; ++v) {
        x[u][v % kHeld] = mine.read(from_x[u], v, args.x_step, present[u]);
        dy[u][v % kHeld] = mine.read(from_dy[u], v, args.dy_step, present[u]);
      }
    }
  }
  void unpack(const Mine& mine, const CudaBackwardArgs& args, int u, int v,
              float (&x_values)[Mine::kWidth], float (&dy_values)[Mine::kWidth]) const {
    if constexpr (kKept) {
      x[u][v].unpack(x_values);
      dy[u][v].unpack(dy_values);
    } else {
      mine.read(from_x[u], v, args.x_step, present[u]).unpack(x_values);
      mine.read(from_dy[u], v, args.dy_step, present[u]).unpack(dy_values);
    }
  }
};

template <CudaBackwardCfg kCfg>
struct DweightSum {
  using Mine = Share<kCfg>;
  static constexpr int kWidth = Mine::kWidth, kVectors = Mine::kVectors;
  float sum[kVectors][kWidth];

  void clear() {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) sum[v][j] = 0;
    }
  }

  // Adds the row groups of the block as a tree and writes the block's slice of a partial row.
  void write(const Mine& mine, float* partial) {
    constexpr int kGroups = kCfg.rows_per_block, kColumns = Mine::kTiling.slice;
    if constexpr (kGroups > 1) {
      __shared__ float exchange[kGroups / 2 * kColumns];
#pragma unroll
      for (int step = kGroups / 2; step > 0; step /= 2) {
        __syncthreads();
        if (mine.group >= step && mine.group < 2 * step)
          each(mine, exchange + (mine.group - step) * kColumns, false);
        __syncthreads();
        if (mine.group < step) each(mine, exchange + mine.group * kColumns, true);
      }
      if (mine.group > 0) return;
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if (!mine.inside(v)) continue;
      Vector<float, kWidth> access;
      access.pack(sum[v]);
#pragma unroll
      for (int at = 0; at < kWidth; at += 4) {
        store_words<16, CachePolicy::kDefault>(partial + mine.column(v) + at, access.words + at);
      }
    }
  }

 private:
  // Lane-major, so that neighbouring threads meet neighbouring banks.
  void each(const Mine& mine, float* shared, bool add) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        float& slot = shared[(v * kWidth + j) * Mine::kThreads + mine.lane];
        if (add)
          sum[v][j] += slot;
        else
          slot = sum[v][j];
      }
    }
  }
};

// The sums of the rows that `read` gives (one per u), over the threads of each.
template <CudaBackwardCfg kCfg, int kRows, bool kInRegisters, typename Mine, typename Read,
          typename WeightOf>
inline void sum_group(const Mine&, float (&sums)[kRows * RowTerms<kCfg>::kSize], float* slots,
                      const Read& read, const WeightOf& weight_of) {
  using Terms = RowTerms<kCfg>;
  constexpr int kWidth = Mine::kWidth, kVectors = Mine::kVectors, kSize = Terms::kSize;
  // Rows of many accesses are read where they are used: unrolled, too many loads wait in registers.
  // What waits in registers is unrolled: an index at run time would put it into local memory (4096
  // unaligned rows of 16383: 128 bytes a thread and row).
  constexpr int kSumUnroll = kVectors <= 2 || kInRegisters ? kVectors : 1;
#pragma unroll
  for (int i = 0; i < kRows * kSize; ++i) sums[i] = 0;
  if constexpr (Terms::kValues > 0) {
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
#pragma unroll kSumUnroll
      for (int v = 0; v < kVectors; ++v) {
        float x[kWidth], dy[kWidth], weight[kWidth];
        read(u, v, x, dy);
        weight_of(v, weight);
        Terms::add(sums + u * kSize, x, dy, weight);
      }
    }
    row_sum<Mine::kThreads, Mine::kBlocks>(sums, slots);
  }
}

// With their sums: dx of these rows, and their share of dweight.
template <CudaBackwardCfg kCfg, int kRows, typename Mine, typename Read, typename WeightOf>
inline void apply_group(const Mine& mine, const CudaBackwardArgs& args, i64 first_row,
                        const float* rstd, const float* sums, DweightSum<kCfg>& dweight,
                        const Read& read, const WeightOf& weight_of) {
  using Terms = RowTerms<kCfg>;
  using T = typename Mine::T;
  constexpr int kWidth = Mine::kWidth, kVectors = Mine::kVectors;
#pragma unroll
  for (int u = 0; u < kRows; ++u) {
    const i64 row = first_row + u * kCfg.rows_per_block;
    const bool present = row < args.rows;
    const Terms terms(sums + u * Terms::kSize, rstd[u], args.eps);
    T* to = nullptr;
    if constexpr (kCfg.want_dx) {
      to = static_cast<T*>(args.dx) + RowIndex<kCfg.leading>(row, args.map).offset(args.dx_rows);
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      float x[kWidth], dy[kWidth], weight[kWidth];
      read(u, v, x, dy);
      weight_of(v, weight);
      terms.apply(x, dy, weight);
      if constexpr (kCfg.want_dweight) {
        if (present) {  // absent rows may come out as NaN: 0 / sqrt(0)
#pragma unroll
          for (int j = 0; j < kWidth; ++j) dweight.sum[v][j] += dy[j];
        }
      }
      if constexpr (kCfg.want_dx) mine.write(to, v, args.dx_step, x, present);
    }
  }
}

// Rows of a block's groups in order: group g of cluster k is k + g * clusters.
template <CudaBackwardCfg kCfg>
inline void backward_rows(const CudaBackwardArgs& args) {
  using Mine = Share<kCfg>;
  using Terms = RowTerms<kCfg>;
  constexpr int kWidth = Mine::kWidth, kVectors = Mine::kVectors, kUnroll = kCfg.unroll;
  constexpr int kSlots = kRowSumSlots<Mine::kThreads, Mine::kBlocks, Terms::kSize * kUnroll>;
  __shared__ float slots[2][kSlots > 0 ? kSlots * kCfg.rows_per_block : 1];
  if constexpr (Mine::kBlocks > 1) cluster_arrive();
  const Mine mine;
  const int cluster = static_cast<int>(blockIdx.x / Mine::kBlocks);
  const i64 pace = static_cast<i64>(gridDim.x / Mine::kBlocks) * group_rows(kCfg);
  i64 row = static_cast<i64>(cluster) * group_rows(kCfg) + mine.group;
  BackwardRows<kCfg> rows;
  rows.load(mine, args, row);
  const Weights<Mine, weight_use(kCfg)> weights(mine, args.weight, args.weight_step);
  DweightSum<kCfg> dweight;
  dweight.clear();
  if constexpr (Mine::kBlocks > 1) cluster_wait();

  const auto read = [&](int u, int v, float(&x)[kWidth], float(&dy)[kWidth]) {
    rows.unpack(mine, args, u, v, x, dy);
  };
  const auto weight_of = [&](int v, float(&weight)[kWidth]) { weights.unpack(mine, v, weight); };
  // The trip count is that of the block's first group: barriers inside need every thread.
  int turn = 0;
  for (i64 head = row - mine.group; head < args.rows; head += pace, row += pace, turn ^= 1) {
    BackwardRows<kCfg> next;
    if constexpr (kCfg.prefetch) next.load(mine, args, row + pace);
    float sums[kUnroll * Terms::kSize];
    sum_group<kCfg, kUnroll, false>(mine, sums, slots[turn] + mine.group * kSlots, read, weight_of);
    apply_group<kCfg, kUnroll>(mine, args, row, rows.rstd, sums, dweight, read, weight_of);
    if constexpr (kCfg.prefetch)
      rows = next;
    else if (head + pace < args.rows)
      rows.load(mine, args, row + pace);
  }
  if constexpr (kCfg.want_dweight) {
    dweight.write(mine, args.partials + static_cast<i64>(cluster) * partial_pitch(kCfg));
  }
}

// Access v of a row whose aligned slice a stage holds; `here` is this lane's place in it.
template <typename Mine>
inline void load_staged(const Mine& mine, typename Mine::Access& access, u32 here, int v,
                        bool present) {
  access.clear();
  if (present && mine.inside(v)) {
    access.load_shared(here + static_cast<u32>(v) * Mine::kThreads * 16);
  }
}

// As backward_rows, with x and dy copied ahead by the bulk engine: no registers wait for memory.
template <CudaBackwardCfg kCfg>
inline void backward_staged(const CudaBackwardArgs& args) {
  using Mine = Share<kCfg>;
  using Terms = RowTerms<kCfg>;
  using T = typename Mine::T;
  constexpr int kWidth = Mine::kWidth, kVectors = Mine::kVectors, kStages = kCfg.stages;
  constexpr int kRows = kCfg.rows_per_block;
  constexpr u32 kRowBytes = Mine::kTiling.slice * sizeof(T), kPitch = staged_row_bytes(kCfg),
                kTensorBytes = kRows * kPitch;
  constexpr int kSlots = kRowSumSlots<Mine::kThreads, Mine::kBlocks, Terms::kSize>;
  __shared__ float slots[2][kSlots > 0 ? kSlots * kRows : 1];
  extern __shared__ __align__(128) unsigned char dynamic_shared[];
  const u32 barriers = shared_address(dynamic_shared), ring = barriers + kBarrierBytes;
  if constexpr (Mine::kBlocks > 1) cluster_arrive();
  const Mine mine;
  const int cluster = static_cast<int>(blockIdx.x / Mine::kBlocks);
  const i64 pace = static_cast<i64>(gridDim.x / Mine::kBlocks) * kRows;
  const i64 start = static_cast<i64>(cluster) * kRows;

  // Rows head .. head + kRows - 1 into `stage`, by the first kFetchers threads: of aligned rows one
  // copies all; of others four a tensor copy the words that whole blocks leave, one of them also
  // the blocks. By one thread that took more instructions than the rest of the row's path.
  constexpr int kFetchers = kCfg.aligned ? 1 : 8;
  constexpr u32 kArrivals = kCfg.aligned ? 1 : kFetchers + 2;
  constexpr int kHeld = kCfg.hold ? kVectors : 1;
  constexpr int kAhead = kCfg.hold ? kStages : kStages - 1;
  const auto fetch = [&](i64 head, int stage) {
    if (head >= args.rows) return;
    const u32 barrier = barriers + static_cast<u32>(stage) * 8,
              to = ring + static_cast<u32>(stage) * 2 * kTensorBytes;
    const int column = mine.first - mine.lane * kWidth;  // of the slice
    const int left = kCfg.hidden - column;
    const u32 bytes = left >= Mine::kTiling.slice ? kRowBytes
                      : left > 0                  ? static_cast<u32>(left) * sizeof(T)
                                                  : 0;
    const int count = kCfg.aligned && kRows == 1 ? 1
                      : args.rows - head < kRows ? static_cast<int>(args.rows - head)
                                                 : kRows;
    if constexpr (kCfg.aligned) {
      expect_bytes(barrier, 2 * static_cast<u32>(count) * bytes);
      if (bytes == 0) return;
#pragma unroll 1
      for (int i = 0; i < count; ++i) {
        const RowIndex<kCfg.leading> index(head + i, args.map);
        const u32 row = static_cast<u32>(i) * kPitch;
        bulk_load(to + row, static_cast<const T*>(args.x) + index.offset(args.x_rows) + column,
                  bytes, barrier);
        bulk_load(to + kTensorBytes + row,
                  static_cast<const T*>(args.dy) + index.offset(args.dy_rows) + column, bytes,
                  barrier);
      }
    } else {
      const u32 word = threadIdx.x % 4 * 4;
      const bool second = threadIdx.x >= 4;
      u32 expected = 0;
#pragma unroll 1
      for (int i = 0; bytes > 0 && i < count; ++i) {
        const RowIndex<kCfg.leading> index(head + i, args.map);
        const i64 offset = second ? index.offset(args.dy_rows) : index.offset(args.x_rows);
        const u64 start = reinterpret_cast<u64>(static_cast<const T*>(second ? args.dy : args.x) +
                                                offset + column);
        const u64 first = start & ~15ULL, border = (start + bytes) & ~15ULL;
        const u32 blocks = static_cast<u32>(border - first);
        const u32 rest = static_cast<u32>(start + bytes - border);
        const u32 slot = to + (second ? kTensorBytes : 0) + static_cast<u32>(i) * kPitch;
        if (word < rest) {
          word_load(slot + blocks + word, reinterpret_cast<const void*>(border + word),
                    rest - word < 4 ? rest - word : 4);
        }
        if (word == 0 && blocks > 0) {
          bulk_load(slot, reinterpret_cast<const void*>(first), blocks, barrier);
          expected += blocks;
        }
      }
      arrive_after_words(barrier);
      // Told last: the phase cannot end before this arrival.
      if (word == 0) expect_bytes(barrier, expected);
    }
  };
  if (threadIdx.x == 0) {  // once a block: rolled, for compile time
#pragma unroll 1
    for (int i = 0; i < kStages; ++i) init_barrier(barriers + static_cast<u32>(i) * 8, kArrivals);
    fence_barriers();
  }
  if constexpr (kCfg.fill_first) {
    if (threadIdx.x < kFetchers) {
#pragma unroll 1
      for (int i = 0; i < kAhead; ++i) fetch(start + i * pace, i);
    }
  }
  constexpr WeightUse kUse = weight_use(kCfg);
  const Weights<Mine, kUse> weights(mine, args.weight, args.weight_step,
                                    ring + kStages * 2 * kTensorBytes);
  DweightSum<kCfg> dweight;
  dweight.clear();
  __syncthreads();
  if constexpr (Mine::kBlocks > 1) cluster_wait();

  constexpr bool kInRegisters = kCfg.hold || kUse == WeightUse::kKept;
  const auto weight_of = [&](int v, float(&weight)[kWidth]) { weights.unpack(mine, v, weight); };
  int turn = 0, stage = 0, filled = 0;
  u32 parity = 0;
  // Without fill_first the first kAhead turns fill stages and no more: a loop of their own has a
  // second copy of `fetch`, which takes a tenth of the time to compile, and registers. But loads of
  // weights pass no branch: with two accesses a row they then wait behind the row, twice (16384
  // rows of 7168: 180 us, 168 with fill_first).
  const i64 begin = kCfg.fill_first ? start : start - kAhead * pace;
  for (i64 head = begin; head < args.rows; head += pace) {
    const bool filling = !kCfg.fill_first && head < start;
    const i64 row = head + mine.group;
    const bool present = !filling && row < args.rows;
    const RowIndex<kCfg.leading> index(row, args.map);
    float rstd[1] = {0}, sums[Terms::kSize];
    if (kCfg.has_rstd && present) {
      rstd[0] = args.rstd[RowIndex<kCfg.leading>(row, args.map).offset(args.rstd_rows)];
    }
    if (!filling) wait_barrier(barriers + static_cast<u32>(stage) * 8, parity);
    const u32 here = ring + static_cast<u32>(stage) * 2 * kTensorBytes +
                     static_cast<u32>(mine.group) * kPitch + static_cast<u32>(mine.lane) * 16;
    typename Mine::Access x_held[kHeld], dy_held[kHeld];
    if constexpr (!kCfg.aligned) {
      const T* const x = static_cast<const T*>(args.x) + index.offset(args.x_rows);
      const T* const dy = static_cast<const T*>(args.dy) + index.offset(args.dy_rows);
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        x_held[v] = mine.read_shared(x, here, v, present);
        dy_held[v] = mine.read_shared(dy, here + kTensorBytes, v, present);
      }
    } else if constexpr (kCfg.hold) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        load_staged(mine, x_held[v], here, v, present);
        load_staged(mine, dy_held[v], here + kTensorBytes, v, present);
      }
    }
    const auto read = [&](int, int v, float(&x)[kWidth], float(&dy)[kWidth]) {
      if constexpr (kCfg.hold) {
        x_held[v].unpack(x);
        dy_held[v].unpack(dy);
      } else if constexpr (!kCfg.fill_first) {
        load_staged(mine, x_held[0], here, v, present);
        load_staged(mine, dy_held[0], here + kTensorBytes, v, present);
        x_held[0].unpack(x);
        dy_held[0].unpack(dy);
      } else {  // under one condition: each form is the machine code that was timed
        typename Mine::Access x_again, dy_again;
        x_again.clear();
        dy_again.clear();
        if (row < args.rows && mine.inside(v)) {
          x_again.load_shared(here + static_cast<u32>(v) * Mine::kThreads * 16);
          dy_again.load_shared(here + kTensorBytes + static_cast<u32>(v) * Mine::kThreads * 16);
        }
        x_again.unpack(x);
        dy_again.unpack(dy);
      }
    };
    if (!filling) {
      sum_group<kCfg, 1, kInRegisters>(mine, sums, slots[turn] + mine.group * kSlots, read,
                                       weight_of);
      if constexpr (kSlots == 0 || Terms::kValues == 0) __syncthreads();
    }
    // A barrier ago, all had left the stage of the turn before, with `hold` that of this one.
    if constexpr (kCfg.fill_first) {
      if (threadIdx.x < kFetchers) {
        const int left = kCfg.hold ? stage : stage == 0 ? kStages - 1 : stage - 1;
        fetch(head + kAhead * pace, left);
      }
    } else {
      if (threadIdx.x < kFetchers) fetch(head + kAhead * pace, filled);
      if (++filled == kStages) filled = 0;
      if (filling) continue;
    }
    apply_group<kCfg, 1>(mine, args, row, rstd, sums, dweight, read, weight_of);
    turn ^= 1;
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
  if constexpr (kCfg.want_dweight) {
    dweight.write(mine, args.partials + static_cast<i64>(cluster) * partial_pitch(kCfg));
  }
}

// Any width: rows are read twice, and the partial sum of dweight stays in memory, each element with
// the one thread that owns it.
template <CudaBackwardCfg kCfg>
inline void backward_reload(const CudaBackwardArgs& args) {
  using Mine = Share<kCfg>;
  using Terms = RowTerms<kCfg>;
  using T = typename Mine::T;
  constexpr int kWidth = Mine::kWidth;
  constexpr int kUnroll = kCfg.aligned && kCfg.has_rstd ? 2 : 1;  // 1024 threads: 64 registers
  __shared__ float slots[2][kRowSumSlots<Mine::kThreads, 1, Terms::kSize> + 1];
  const Mine mine;
  constexpr WeightUse kUse = Mine::kWeighted ? WeightUse::kReread : WeightUse::kNone;
  const Weights<Mine, kUse> weights(mine, args.weight, args.weight_step);
  float* partial = args.partials + static_cast<i64>(blockIdx.x) * partial_pitch(kCfg);
  int turn = 0;
  for (i64 row = blockIdx.x; row < args.rows; row += gridDim.x, turn ^= 1) {
    const RowIndex<kCfg.leading> index(row, args.map);
    const T* from_x = static_cast<const T*>(args.x) + index.offset(args.x_rows);
    const T* from_dy = static_cast<const T*>(args.dy) + index.offset(args.dy_rows);
    const auto read = [&](int v, float(&x)[kWidth], float(&dy)[kWidth], float(&weight)[kWidth]) {
      mine.read(from_x, v, args.x_step, true).unpack(x);
      mine.read(from_dy, v, args.dy_step, true).unpack(dy);
      weights.unpack(mine, v, weight);
    };
    float sums[Terms::kSize] = {};
    if constexpr (Terms::kValues > 0) {
#pragma unroll kUnroll
      for (int v = 0; v < Mine::kVectors; ++v) {
        float x[kWidth], dy[kWidth], weight[kWidth];
        read(v, x, dy, weight);
        Terms::add(sums, x, dy, weight);
      }
      row_sum<Mine::kThreads, 1>(sums, slots[turn]);
    }
    const Terms terms(sums, kCfg.has_rstd ? args.rstd[index.offset(args.rstd_rows)] : 0.0F,
                      args.eps);
    T* to = static_cast<T*>(args.dx) + index.offset(args.dx_rows);
    const bool fresh = row == blockIdx.x;
#pragma unroll kUnroll
    for (int v = 0; v < Mine::kVectors; ++v) {
      float x[kWidth], dy[kWidth], weight[kWidth];
      read(v, x, dy, weight);
      terms.apply(x, dy, weight);
      if constexpr (kCfg.want_dx) mine.write(to, v, args.dx_step, x, true);
      if constexpr (kCfg.want_dweight) {
        if (!mine.inside(v)) continue;
        float* sum = partial + mine.column(v);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) sum[j] = fresh ? dy[j] : sum[j] + dy[j];
      }
    }
  }
}

template <CudaBackwardCfg kCfg>
inline void backward(const CudaBackwardArgs& args) {
  static_assert(objection(kCfg) == nullptr);
  if constexpr (kCfg.reload)
    backward_reload<kCfg>(args);
  else if constexpr (kCfg.stages > 0)
    backward_staged<kCfg>(args);
  else
    backward_rows<kCfg>(args);
}

// dweight = sum of the partial rows: kReduceLanes interleaved sums a column, then a tree.
template <CudaBackwardCfg kCfg>
inline void reduce_dweight(const CudaBackwardArgs& args) {
  using Weight = typename StorageOf<kCfg.weight>::Type;
  __shared__ float sums[kReduceLanes][kReduceColumns + 1];
  const int at = static_cast<int>(threadIdx.x) % kReduceColumns,
            lane = static_cast<int>(threadIdx.x) / kReduceColumns;
  const int column = static_cast<int>(blockIdx.x) * kReduceColumns + at;
  float sum = 0;
  // Eight loads in flight; absent ones are zeros, which costs less to compile than a remainder.
  constexpr int kLoads = 8;
  for (int first = lane; column < kCfg.hidden && first < args.partial_count;
       first += kLoads * kReduceLanes) {
    float part[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const int i = first + k * kReduceLanes;
      part[k] = i < args.partial_count
                    ? args.partials[static_cast<i64>(i) * partial_pitch(kCfg) + column]
                    : 0.0F;
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) sum += part[k];
  }
  sums[lane][at] = sum;
  __syncthreads();
  // A warp per column: lane l of it holds partial sum l.
  const float total = lane_sum<32>(sums[at][lane]);
  const int target = static_cast<int>(blockIdx.x) * kReduceColumns + lane;
  if (at == 0 && target < kCfg.hidden) {
    Vector<Weight, 1> access;
    access.pack({total});
    access.template store<sizeof(Weight)>(static_cast<Weight*>(args.dweight) +
                                          target * args.dweight_step);
  }
}

}  // namespace kw::ops::rms_norm::cuda
