// SPDX-License-Identifier: Apache-2.0
// A strided tensor seen as rows: leading dimensions merged where strides permit, so that the usual
// tensor is one pitch. Offsets count elements. Plain arithmetic, no SIMD.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kw::kit::cpu {

struct RowLayout {
  static constexpr int kMaxDims = 8;

  int dims = 0;            // merged leading dimensions, outermost first
  std::int64_t inner = 1;  // stride of the last dimension; 1 where that has one element
  std::int64_t rows = 1;
  std::array<std::int64_t, kMaxDims> sizes{};
  std::array<std::int64_t, kMaxDims> strides{};

  RowLayout() = default;
  // The last dimension is the row. Rank at least 1.
  RowLayout(std::span<const std::int64_t> shape, std::span<const std::int64_t> shape_strides) {
    const std::size_t leading = shape.size() - 1;
    inner = shape[leading] == 1 ? 1 : shape_strides[leading];
    for (std::size_t i = 0; i < leading; ++i) {
      rows *= shape[i];
      if (shape[i] == 1) continue;
      const std::int64_t outer_stride = dims > 0 ? strides[dims - 1] : 0;
      if (dims > 0 && outer_stride == shape[i] * shape_strides[i]) {
        sizes[dims - 1] *= shape[i];
        strides[dims - 1] = shape_strides[i];
      } else {
        sizes[dims] = shape[i];
        strides[dims++] = shape_strides[i];
      }
    }
  }

  // Offset of the first element of a row, rows counted in row-major order.
  std::int64_t offset(std::int64_t row) const noexcept {
    return dims <= 1 ? row * strides[0] : nested_offset(row);
  }

 private:
  // Never inlined: kernels ask for many rows, and rarely for these.
  [[gnu::noinline]] std::int64_t nested_offset(std::int64_t row) const noexcept {
    std::int64_t result = 0;
    for (int d = dims - 1; d > 0; --d) {
      result += row % sizes[d] * strides[d];
      row /= sizes[d];
    }
    return result + row * strides[0];
  }
};

}  // namespace kw::kit::cpu
