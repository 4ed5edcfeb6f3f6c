// SPDX-License-Identifier: Apache-2.0
// A tensor of any layout in memory filled with canaries, and scalar access to it. Test code only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernelwright/base/numeric.hpp"
#include "kernelwright/base/tensor.hpp"

namespace kw::ops::rms_norm::native {

using Shape = std::vector<std::int64_t>;
inline constexpr std::uint8_t kCanary = 0xA5;

inline double read(const void* at, DType dtype) {
  if (dtype == DType::kF32) return *static_cast<const float*>(at);
  if (dtype == DType::kF16) return to_f32(*static_cast<const f16*>(at));
  return to_f32(*static_cast<const bf16*>(at));
}

inline void write(void* at, DType dtype, double value) {
  if (dtype == DType::kF32) *static_cast<float*>(at) = from_f64<float>(value);
  if (dtype == DType::kF16) *static_cast<f16*>(at) = from_f64<f16>(value);
  if (dtype == DType::kBF16) *static_cast<bf16*>(at) = from_f64<bf16>(value);
}

inline double rounded(double value, DType dtype) {
  alignas(4) std::uint8_t bytes[4];
  write(bytes, dtype, value);
  return read(bytes, dtype);
}

// Distance to the next number of `dtype`, at magnitude `value`.
inline double ulp(double value, DType dtype) {
  const int digits = dtype == DType::kF32 ? 24 : dtype == DType::kF16 ? 11 : 8;
  const int lowest = dtype == DType::kF16 ? -24 : -133;
  return std::ldexp(1.0,
                    std::max(std::ilogb(std::max(std::abs(value), 1e-38)) + 1 - digits, lowest));
}

// A tensor in memory filled with canaries, `lead` elements past an aligned address.
class Tensor {
 public:
  Tensor(DType dtype, const Shape& sizes, Shape strides = {}, std::int64_t lead = 0)
      : bytes_(static_cast<std::int64_t>(dtype_bytes(dtype))) {
    view = strides.empty() ? TensorView(nullptr, dtype, sizes)
                           : TensorView(nullptr, dtype, sizes, strides);
    const std::int64_t begin = (64 + lead) * bytes_;
    memory_.assign(static_cast<std::size_t>(begin + view.byte_range().end + 64 * bytes_ + 64),
                   kCanary);
    const auto misaligned = reinterpret_cast<std::uintptr_t>(memory_.data()) % 64;
    view.data = memory_.data() + (64 - misaligned) % 64 + begin;
  }

  std::int64_t columns() const { return view.sizes[view.rank - 1]; }
  std::int64_t rows() const { return columns() == 0 ? 0 : view.numel() / columns(); }

  void* at(std::int64_t row, std::int64_t column) const {
    std::int64_t offset = column * view.strides[view.rank - 1];
    for (int d = view.rank - 2; d >= 0; --d) {
      offset += row % view.sizes[d] * view.strides[d];
      row /= view.sizes[d];
    }
    return static_cast<std::uint8_t*>(view.data) + offset * bytes_;
  }
  double get(std::int64_t row, std::int64_t column) const {
    return read(at(row, column), view.dtype);
  }
  void set(std::int64_t row, std::int64_t column, double value) {
    write(at(row, column), view.dtype, value);
  }
  void fill(double low, double high, std::uint32_t seed) {
    for (std::int64_t row = 0; row < rows(); ++row) {
      for (std::int64_t column = 0; column < columns(); ++column) {
        seed = seed * 1664525U + 1013904223U;
        set(row, column, low + (high - low) * (seed >> 8) * 0x1p-24);
      }
    }
  }
  // The elements in row-major order, as bits.
  std::vector<std::uint8_t> bits() const {
    std::vector<std::uint8_t> result;
    for (std::int64_t row = 0; row < rows(); ++row) {
      for (std::int64_t column = 0; column < columns(); ++column) {
        const auto* from = static_cast<const std::uint8_t*>(at(row, column));
        result.insert(result.end(), from, from + bytes_);
      }
    }
    return result;
  }
  // Whether every byte that is no element still holds the canary. Wipes the elements.
  bool surroundings_untouched() {
    for (std::int64_t row = 0; row < rows(); ++row) {
      for (std::int64_t c = 0; c < columns(); ++c) std::memset(at(row, c), kCanary, bytes_);
    }
    return std::all_of(memory_.begin(), memory_.end(), [](auto byte) { return byte == kCanary; });
  }

  TensorView view;

 private:
  std::int64_t bytes_;
  std::vector<std::uint8_t> memory_;
};

}  // namespace kw::ops::rms_norm::native
