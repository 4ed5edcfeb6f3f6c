// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/base/tensor.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <optional>

#include "kernelwright/base/fail.hpp"

namespace kw {
namespace {

// Of sizes that nobody has checked yet: wraps instead of being undefined.
std::int64_t product(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t result = 0;
  (void)__builtin_mul_overflow(a, b, &result);
  return result;
}

// Bytes that a view occupies modulo `pitch`: dimensions whose stride is a multiple of it vanish,
// the others span [begin, end) from the base. Nullopt when they span more than the pitch.
struct Residue {
  std::int64_t begin, end;
};

std::optional<Residue> residue(const TensorView& view, std::int64_t pitch) noexcept {
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(view.dtype));
  Residue span{0, bytes};
  for (int i = 0; i < view.rank; ++i) {
    const std::int64_t stride = view.strides[i] * bytes;
    if (view.sizes[i] <= 1 || stride == pitch) continue;
    if (std::abs(stride) >= pitch) {
      if (stride % pitch == 0) continue;
      return std::nullopt;
    }
    const std::int64_t extent = (view.sizes[i] - 1) * stride;
    (extent < 0 ? span.begin : span.end) += extent;
  }
  if (span.end - span.begin > pitch) return std::nullopt;
  return span;
}

// Whether the views fall into different parts of every period of `pitch` bytes. `delta` is b's base
// minus a's.
bool disjoint_modulo(const TensorView& a, const TensorView& b, std::int64_t delta,
                     std::int64_t pitch) noexcept {
  const auto part_a = residue(a, pitch), part_b = residue(b, pitch);
  if (!part_a || !part_b) return false;
  const std::int64_t from = ((delta + part_b->begin - part_a->begin) % pitch + pitch) % pitch;
  return from >= part_a->end - part_a->begin && from + (part_b->end - part_b->begin) <= pitch;
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
  for (int i = 0; i < rank; ++i) count = product(count, sizes[i]);
  return count;
}

bool TensorView::contiguous() const noexcept {
  std::int64_t expected = 1;
  for (int i = rank - 1; i >= 0; --i) {
    if (sizes[i] != 1 && strides[i] != expected) return numel() == 0;
    expected = product(expected, sizes[i]);
  }
  return true;
}

TensorView::ByteRange TensorView::byte_range() const noexcept {
  ByteRange range;
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(dtype));
  for (int i = 0; i < rank; ++i) {
    if (sizes[i] == 0) return {};
    const std::int64_t span = product(product(sizes[i] - 1, strides[i]), bytes);
    (span < 0 ? range.begin : range.end) += span;
  }
  range.end += bytes;
  return range;
}

void contiguous_strides(std::span<const std::int64_t> sizes,
                        std::span<std::int64_t> strides) noexcept {
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride = product(stride, std::max<std::int64_t>(sizes[i], 1));
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
  // Ranges meet. Views of one pitched buffer are disjoint if they are so modulo its pitch, which is
  // a stride of one of them.
  for (const TensorView* view : {&a, &b}) {
    const auto bytes = static_cast<std::int64_t>(dtype_bytes(view->dtype));
    for (int i = 0; i < view->rank; ++i) {
      const std::int64_t pitch = std::abs(view->strides[i]) * bytes;
      if (view->sizes[i] > 1 && pitch > bytes && disjoint_modulo(a, b, base_b - base_a, pitch))
        return false;
    }
  }
  return true;
}

bool self_overlaps(const TensorView& view) noexcept {
  if (!view.present() || view.numel() <= 1) return false;
  struct Dimension {
    std::int64_t size, stride;
  };
  std::array<Dimension, kMaxRank> dims;  // by ascending stride
  int rank = 0;
  for (int i = 0; i < view.rank; ++i) {
    if (view.sizes[i] <= 1) continue;
    const Dimension dim{view.sizes[i], std::abs(view.strides[i])};
    int at = rank++;
    for (; at > 0 && dims[at - 1].stride > dim.stride; --at) dims[at] = dims[at - 1];
    dims[at] = dim;
  }
  std::int64_t extent = 1;  // elements spanned by the dimensions so far
  for (int i = 0; i < rank; ++i) {
    if (dims[i].stride < extent) return true;
    extent += (dims[i].size - 1) * dims[i].stride;
  }
  return false;
}

}  // namespace kw
