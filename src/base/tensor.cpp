// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/base/tensor.hpp"

#include <algorithm>
#include <cstddef>

#include "kernelwright/base/fail.hpp"

namespace kw {
namespace {

struct Dimension {
  std::int64_t size, stride;
};

struct Layout {
  std::array<Dimension, kMaxRank> dims;
  int rank = 0;
};

// Dimensions of extent > 1, largest stride first.
Layout sorted_layout(const TensorView& view) {
  Layout layout;
  for (int i = 0; i < view.rank; ++i) {
    if (view.sizes[i] > 1) layout.dims[layout.rank++] = {view.sizes[i], view.strides[i]};
  }
  std::sort(layout.dims.begin(), layout.dims.begin() + layout.rank,
            [](const Dimension& a, const Dimension& b) { return a.stride > b.stride; });
  return layout;
}

// Elements spanned by the dimensions from `from` on.
std::int64_t inner_extent(const Layout& layout, int from) {
  std::int64_t extent = 1;
  for (int i = from; i < layout.rank; ++i) {
    extent += (layout.dims[i].size - 1) * layout.dims[i].stride;
  }
  return extent;
}

}  // namespace

TensorView::TensorView(void* data_in, DType dtype_in, std::span<const std::int64_t> sizes_in)
    : data(data_in), dtype(dtype_in), rank(static_cast<std::int8_t>(sizes_in.size())) {
  if (sizes_in.size() > kMaxRank) {
    fail(Code::kInvalidArgument, "a tensor has {} dimensions; at most {} are supported",
         sizes_in.size(), kMaxRank);
  }
  std::copy(sizes_in.begin(), sizes_in.end(), sizes.begin());
  contiguous_strides(sizes_in, strides);
}

TensorView::TensorView(void* data_in, DType dtype_in, std::span<const std::int64_t> sizes_in,
                       std::span<const std::int64_t> strides_in)
    : TensorView(data_in, dtype_in, sizes_in) {
  if (sizes_in.size() != strides_in.size()) {
    fail(Code::kInvalidArgument, "a tensor has {} sizes but {} strides", sizes_in.size(),
         strides_in.size());
  }
  std::copy(strides_in.begin(), strides_in.end(), strides.begin());
}

std::int64_t TensorView::numel() const noexcept {
  std::int64_t count = 1;
  for (int i = 0; i < rank; ++i) count *= sizes[i];
  return count;
}

bool TensorView::contiguous() const noexcept {
  std::int64_t expected = 1;
  for (int i = rank - 1; i >= 0; --i) {
    if (sizes[i] != 1 && strides[i] != expected) return numel() == 0;
    expected *= sizes[i];
  }
  return true;
}

TensorView::ByteRange TensorView::byte_range() const noexcept {
  ByteRange range;
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(dtype));
  for (int i = 0; i < rank; ++i) {
    if (sizes[i] == 0) return {};
    const std::int64_t span = (sizes[i] - 1) * strides[i] * bytes;
    (span < 0 ? range.begin : range.end) += span;
  }
  range.end += bytes;
  return range;
}

void contiguous_strides(std::span<const std::int64_t> sizes, std::span<std::int64_t> strides) noexcept {
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(sizes[i], 1);
  }
}

bool may_overlap(const TensorView& a, const TensorView& b) noexcept {
  if (!a.present() || !b.present() || a.data == nullptr || b.data == nullptr) return false;
  const auto range_a = a.byte_range(), range_b = b.byte_range();
  if (range_a.begin == range_a.end || range_b.begin == range_b.end) return false;
  const auto base_a = reinterpret_cast<std::intptr_t>(a.data);
  const auto base_b = reinterpret_cast<std::intptr_t>(b.data);
  if (base_a + range_a.end <= base_b + range_b.begin) return false;
  if (base_b + range_b.end <= base_a + range_a.begin) return false;
  // Ranges meet. Two views of one pitched buffer are still disjoint if they share the outer pitch
  // and their inner extents fall into different parts of it.
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(a.dtype));
  const std::int64_t byte_delta = base_b - base_a;
  if (a.dtype != b.dtype || byte_delta % bytes != 0) return true;
  const Layout layout_a = sorted_layout(a), layout_b = sorted_layout(b);
  if (layout_a.rank == 0 || layout_b.rank == 0) return true;
  const std::int64_t pitch = layout_a.dims[0].stride;
  if (pitch <= 0 || layout_b.dims[0].stride != pitch) return true;
  if (layout_a.dims[layout_a.rank - 1].stride < 0 || layout_b.dims[layout_b.rank - 1].stride < 0) return true;
  const std::int64_t extent_a = inner_extent(layout_a, 1), extent_b = inner_extent(layout_b, 1);
  const std::int64_t delta = ((byte_delta / bytes) % pitch + pitch) % pitch;
  return !(delta >= extent_a && delta + extent_b <= pitch);
}

bool self_overlaps(const TensorView& view) noexcept {
  if (!view.present() || view.numel() <= 1) return false;
  const Layout layout = sorted_layout(view);
  for (int i = 0; i < layout.rank; ++i) {
    if (layout.dims[i].stride < inner_extent(layout, i + 1)) return true;
  }
  return false;
}

}  // namespace kw
