// SPDX-License-Identifier: Apache-2.0
// Row number -> element offset, for tensors whose leading dimensions are strided. Shared by host
// and device: plain structs that travel in kernel arguments. Freestanding.
#pragma once

namespace kw::kit {

inline constexpr int kMaxLeading = 7;  // a rank-8 tensor without its last dimension

// Leading dimensions, fastest first. reciprocal = floor((2^64 - 1) / size): the high product with a
// row number is the quotient or one less, so one correction makes the division exact in 64 bits.
struct RowMap {
  unsigned long long size[kMaxLeading] = {};
  unsigned long long reciprocal[kMaxLeading] = {};
};

// Elements between neighbours of each leading dimension, in the order of RowMap. 0 repeats a row.
struct RowStrides {
  long long stride[kMaxLeading] = {};
};

// Joins dimensions that every tensor walks as one, and drops those of size 1. `sizes` and
// `strides[i]` are row-major over the `rank` leading dimensions. Returns the number of dimensions
// left, at least 1. A single row keeps stride 0.
template <int kTensors>
constexpr int collapse_rows(int rank, const long long* sizes,
                            const long long* const (&strides)[kTensors], RowMap& map,
                            RowStrides (&out)[kTensors]) {
  int dims = 0;
  for (int d = rank - 1; d >= 0; --d) {
    if (sizes[d] == 1) continue;
    bool joins = dims > 0;
    for (int i = 0; joins && i < kTensors; ++i) {
      const auto inner = static_cast<long long>(map.size[dims - 1]);
      joins = strides[i][d] == out[i].stride[dims - 1] * inner;
    }
    if (joins) {
      map.size[dims - 1] *= static_cast<unsigned long long>(sizes[d]);
      continue;
    }
    map.size[dims] = static_cast<unsigned long long>(sizes[d]);
    for (int i = 0; i < kTensors; ++i) out[i].stride[dims] = strides[i][d];
    ++dims;
  }
  for (int d = 0; d < dims; ++d) {
    map.reciprocal[d] = map.size[d] == 0 ? 0 : ~0ULL / map.size[d];
  }
  return dims > 0 ? dims : 1;
}

}  // namespace kw::kit
