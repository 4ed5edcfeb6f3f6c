// SPDX-License-Identifier: Apache-2.0
// A tensor argument: pointer, element type, sizes and strides. Borrows memory, never owns it.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "kernelwright/base/dtype.hpp"

namespace kw {

inline constexpr int kMaxRank = 8;

// Sizes and strides count elements, 64 bits everywhere. A default-constructed view is absent: an
// optional input that is not given or an output that is not wanted.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  std::int8_t rank = -1;  // -1: absent
  std::array<std::int64_t, kMaxRank> sizes{};
  std::array<std::int64_t, kMaxRank> strides{};

  constexpr TensorView() = default;
  // Contiguous, row-major.
  TensorView(void* address, DType type, std::span<const std::int64_t> shape);
  TensorView(void* address, DType type, std::initializer_list<std::int64_t> shape)
      : TensorView(address, type, std::span(shape.begin(), shape.size())) {}
  TensorView(void* address, DType type, std::span<const std::int64_t> shape,
             std::span<const std::int64_t> pitches);

  constexpr bool present() const noexcept { return rank >= 0; }
  std::span<const std::int64_t> shape() const noexcept {
    return {sizes.data(), static_cast<std::size_t>(rank < 0 ? 0 : rank)};
  }
  // Number of elements; 1 for rank 0.
  std::int64_t numel() const noexcept;
  bool contiguous() const noexcept;
  // Half-open range of byte offsets from `data` that elements occupy; empty when numel() is 0.
  struct ByteRange {
    std::int64_t begin = 0, end = 0;
  };
  ByteRange byte_range() const noexcept;
};

// A tensor-list argument: borrows an array of views.
struct TensorList {
  const TensorView* data = nullptr;
  std::int64_t size = 0;
};

// Writes row-major strides for `sizes` into `strides`.
void contiguous_strides(std::span<const std::int64_t> sizes,
                        std::span<std::int64_t> strides) noexcept;

// Whether two present views share a byte. Exact for disjoint ranges and for slices of one pitched
// buffer at any depth (heads of a packed projection); otherwise answers true.
bool may_overlap(const TensorView& a, const TensorView& b) noexcept;

// Whether two different indices of one view reach the same element (stride 0, or strides too
// small). Exact when every dimension steps over the smaller ones; answers true for interleaved
// ones.
bool self_overlaps(const TensorView& view) noexcept;

}  // namespace kw
