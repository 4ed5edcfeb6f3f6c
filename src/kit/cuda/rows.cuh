// SPDX-License-Identifier: Apache-2.0
// Coordinates of a row in strided leading dimensions, in 64 bits.
#pragma once

#include "kernelwright/kit/cuda/types.cuh"
#include "kernelwright/kit/shared/row_map.hpp"

namespace kw::kit::cuda {

template <int kDims>
struct RowIndex {
  i64 at[kDims];

  RowIndex(i64 row, const RowMap& map) {
    auto rest = static_cast<u64>(row);
#pragma unroll
    for (int d = 0; d < kDims - 1; ++d) {
      u64 quotient;
      asm("mul.hi.u64 %0, %1, %2;" : "=l"(quotient) : "l"(rest), "l"(map.reciprocal[d]));
      u64 remainder = rest - quotient * map.size[d];
      if (remainder >= map.size[d]) {
        remainder -= map.size[d];
        ++quotient;
      }
      at[d] = static_cast<i64>(remainder);
      rest = quotient;
    }
    at[kDims - 1] = static_cast<i64>(rest);
  }

  i64 offset(const RowStrides& strides) const {
    i64 sum = 0;
#pragma unroll
    for (int d = 0; d < kDims; ++d) sum += at[d] * strides.stride[d];
    return sum;
  }
};

}  // namespace kw::kit::cuda
