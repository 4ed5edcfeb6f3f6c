// SPDX-License-Identifier: Apache-2.0
// From the tensors of a call to what its kernel is told of rows. Private: for cuda.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "kernelwright/base/tensor.hpp"
#include "kernelwright/kit/shared/row_map.hpp"
#include "kernelwright/ops/rms_norm/cfg.hpp"

namespace kw::ops::rms_norm {

// A tensor of a call, and where the kernel's arguments hold its strides.
struct RowTensor {
  const TensorView& tensor;
  kit::RowStrides& rows;
  long long* step = nullptr;  // between columns; null for a tensor that has none
};

// What lay_out_rows does where several dimensions lead, or none.
template <std::size_t... kIndices>
int join_rows(const std::array<RowTensor, sizeof...(kIndices)>& tensors, long long& rows,
              kit::RowMap& map, std::index_sequence<kIndices...>) {
  constexpr std::size_t kTensors = sizeof...(kIndices);
  const TensorView& x = tensors[0].tensor;
  const int last = x.rank - 1;
  long long sizes[kMaxRank] = {};
  long long pitches[kTensors][kMaxRank] = {};
  rows = 1;
  for (int d = 0; d < last; ++d) {
    sizes[d] = x.sizes[static_cast<std::size_t>(d)];
    rows *= sizes[d];
  }
  for (std::size_t i = 0; i < kTensors; ++i) {
    const TensorView& tensor = tensors[i].tensor;
    for (int d = 0; tensor.present() && d < last; ++d)
      pitches[i][d] = tensor.strides[static_cast<std::size_t>(d)];
  }
  const long long* const all[kTensors] = {pitches[kIndices]...};
  kit::RowStrides joined[kTensors];
  const int leading = kit::collapse_rows(last, sizes, all, map, joined);
  ((tensors[kIndices].rows = joined[kIndices]), ...);
  return leading;
}

// Fills in the arguments, whose strides are still 0, and returns how many dimensions lead.
// tensors[0] is x; an absent tensor keeps strides 0, which join with anything. Written where the
// kernel reads it: by way of an object of its own it took 59 ns to make the arguments of a launch,
// so 23.
template <std::size_t kTensors>
int lay_out_rows(const std::array<RowTensor, kTensors>& tensors, long long& rows,
                 kit::RowMap& map) {
  const TensorView& x = tensors[0].tensor;
  const auto column = static_cast<std::size_t>(x.rank - 1);
  for (const RowTensor& each : tensors) {
    if (each.step == nullptr) continue;
    const bool strided = each.tensor.rank == x.rank && x.sizes[column] > 1;
    *each.step = strided ? each.tensor.strides[column] : 1;
  }
  if (column != 1) return join_rows(tensors, rows, map, std::make_index_sequence<kTensors>());
  rows = x.sizes[0];
  if (rows == 1) return 1;
  map.size[0] = static_cast<unsigned long long>(rows);
  map.reciprocal[0] = rows == 0 ? 0 : ~0ULL / map.size[0];
  for (const RowTensor& each : tensors) {
    if (each.tensor.present()) each.rows.stride[0] = each.tensor.strides[0];
  }
  return 1;
}

inline int lay_out(CudaForwardArgs& args, const TensorView& x, const TensorView& y,
                   const TensorView& rstd) {
  return lay_out_rows(
      std::array<RowTensor, 3>{
          {{x, args.x_rows, &args.x_step}, {y, args.y_rows, &args.y_step}, {rstd, args.rstd_rows}}},
      args.rows, args.map);
}

inline int lay_out(CudaBackwardArgs& args, const TensorView& x, const TensorView& dy,
                   const TensorView& dx, const TensorView& rstd) {
  return lay_out_rows(std::array<RowTensor, 4>{{{x, args.x_rows, &args.x_step},
                                                {dy, args.dy_rows, &args.dy_step},
                                                {dx, args.dx_rows, &args.dx_step},
                                                {rstd, args.rstd_rows}}},
                      args.rows, args.map);
}

}  // namespace kw::ops::rms_norm
