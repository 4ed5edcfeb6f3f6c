// SPDX-License-Identifier: Apache-2.0
// From the tensors of a call to what its kernel is told of rows. Private: for cuda.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "kernelwright/base/tensor.hpp"
#include "kernelwright/kit/shared/row_map.hpp"

namespace kw::ops::rms_norm {

// Tensors of one call as rows of columns. An absent one has strides 0, which join with anything.
template <int kTensors>
struct RowsOf {
  long long rows = 1;
  int leading = 1;
  kit::RowMap map;
  std::array<kit::RowStrides, kTensors> strides;
  std::array<long long, kTensors> steps{};  // between columns; 1 where there is no second one

  // tensors[0] is x; one of lower rank has no columns.
  explicit RowsOf(const std::array<const TensorView*, kTensors>& tensors) {
    const TensorView& x = *tensors[0];
    const int last = x.rank - 1;
    for (std::size_t i = 0; i < kTensors; ++i) {
      const auto column = static_cast<std::size_t>(last);
      const bool strided = tensors[i]->rank == x.rank && x.sizes[column] > 1;
      steps[i] = strided ? tensors[i]->strides[column] : 1;
    }
    if (last == 1)
      take_rows(tensors);
    else
      join_dimensions(tensors, last);
  }

 private:
  // One leading dimension, as most calls have: what join_dimensions comes to, in half the time.
  void take_rows(const std::array<const TensorView*, kTensors>& tensors) {
    rows = tensors[0]->sizes[0];
    if (rows == 1) return;
    map.size[0] = static_cast<unsigned long long>(rows);
    map.reciprocal[0] = rows == 0 ? 0 : ~0ULL / map.size[0];
    for (std::size_t i = 0; i < kTensors; ++i) {
      if (tensors[i]->present()) strides[i].stride[0] = tensors[i]->strides[0];
    }
  }

  void join_dimensions(const std::array<const TensorView*, kTensors>& tensors, int last) {
    long long sizes[kMaxRank] = {};
    long long pitches[kTensors][kMaxRank] = {};
    for (int d = 0; d < last; ++d) {
      sizes[d] = tensors[0]->sizes[static_cast<std::size_t>(d)];
      rows *= sizes[d];
    }
    for (std::size_t i = 0; i < kTensors; ++i) {
      for (int d = 0; tensors[i]->present() && d < last; ++d)
        pitches[i][d] = tensors[i]->strides[static_cast<std::size_t>(d)];
    }
    collapse(last, sizes, pitches, std::make_index_sequence<kTensors>());
  }

  template <std::size_t... kIndices>
  void collapse(int last, const long long* sizes, const long long (&pitches)[kTensors][kMaxRank],
                std::index_sequence<kIndices...>) {
    const long long* const all[kTensors] = {pitches[kIndices]...};
    kit::RowStrides joined[kTensors];
    leading = kit::collapse_rows(last, sizes, all, map, joined);
    ((strides[kIndices] = joined[kIndices]), ...);
  }
};

}  // namespace kw::ops::rms_norm
