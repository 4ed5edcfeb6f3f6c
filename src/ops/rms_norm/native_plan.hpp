// SPDX-License-Identifier: Apache-2.0
// What the host side of the CPU kernels hands to their bodies: tensors as rows, plans, limits.
// Private: for native_kernels.cpp and the bodies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernelwright/kit/cpu/row_layout.hpp"

namespace kw::ops::rms_norm::native {

using kit::cpu::RowLayout;

// A row is summed in pieces of this many elements, each in short chains, the pieces exactly: with
// one chain 262144 bf16 came out 40 ulp off. Also what is gathered where elements are not adjacent.
inline constexpr std::int64_t kTile = 1024;

// Most rows whose sums are in flight together in the forward. Rows of 128 bf16 reach 0.61 of the
// copy rate in pairs, 0.77 by 16, 0.79 by 32, 0.74 by 64.
inline constexpr int kMaxForwardGroup = 32;

// Bytes between what the first pass over a row reads and the lines it fetches meanwhile. On a copy
// of 32 GB/s, forward and backward of 4096: without 0.72 and 0.70 of the copy rate, with 1024
// bytes 0.92 and 0.90 (f32 0.89, 0.90), 2048 0.98 and 0.91 (1.00, 1.02), 4096 0.98 and 0.88.
inline constexpr std::int64_t kAheadBytes = 2048;

// Room for the scalars of a group in whole vectors of any target.
inline constexpr int kMaxVector = 16;

// The backward of rows up to this width reads a row once, kNarrowGroup rows at a time, and keeps in
// L1 what its second pass needs: from the caches 55 ns a row of 128 bf16 instead of 87.
inline constexpr std::int64_t kNarrowWidth = 256;
// kAheadBytes of the forward of such rows. 262144x128: with 2048 bytes 0.75 of the
// copy rate, with 4096 to 16384 0.82.
inline constexpr std::int64_t kNarrowAheadBytes = 4096;
inline constexpr int kNarrowGroup = 8;
// Rows whose terms of dweight are added in plain f32 before they enter the exact sum.
inline constexpr int kSumRows = 16;

// A tensor of rows. Outputs are written through `data` too.
struct Rows {
  void* data = nullptr;
  RowLayout layout;

  template <typename S>
  S* row(std::int64_t index) const {
    return static_cast<S*>(data) + layout.offset(index);
  }
};

// How rows are read and written: element by element, or adjacent ones in whole vectors, with
// stores that pass the caches by where those would not keep them.
enum class RowsMode { kStrided, kCached, kStreamed };

struct ForwardPlan {
  Rows x, y, weight;
  float* rstd = nullptr;
  std::int64_t rows = 0, hidden = 0;
  float eps = 0;
  int group = 1;
  bool aligned = false;  // every row of y starts at a cache line
};

struct BackwardPlan {
  Rows dy, x, weight, dx;
  const float* rstd = nullptr;
  Rows dweight;
  float* partials = nullptr;  // [chunks][value, error, sums][width]
  std::int64_t rows = 0, hidden = 0;
  std::int64_t chunk_rows = 0, chunks = 0, width = 0;
  float eps = 0;
  float offset = 0;  // added to the weight

  float* chunk_partials(std::int64_t chunk) const { return partials + chunk * 3 * width; }
};

using ForwardRows = void (*)(const ForwardPlan& plan, std::int64_t begin, std::int64_t end);
using BackwardRows = void (*)(const BackwardPlan& plan, std::int64_t chunk);
using ReduceColumns = void (*)(const BackwardPlan& plan, std::int64_t begin, std::int64_t end);

inline float default_nan(float value) {
  return value == value ? value : std::numeric_limits<float>::quiet_NaN();
}

template <typename S>
void gather(const S* from, std::int64_t stride, std::int64_t count, S* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
}

template <typename S>
void scatter(const S* from, std::int64_t count, S* to, std::int64_t stride) {
  for (std::int64_t i = 0; i < count; ++i) to[i * stride] = from[i];
}

// `count` adjacent elements of a row from `start`: in place, or gathered into `tile`.
template <typename S>
const S* adjacent(const S* row, std::int64_t stride, std::int64_t start, std::int64_t count,
                  S* tile) {
  if (stride == 1) return row + start;
  gather(row + start * stride, stride, count, tile);
  return tile;
}

}  // namespace kw::ops::rms_norm::native
