// SPDX-License-Identifier: Apache-2.0
// Row kernels of rms_norm. Compiled once per Highway target.
#if defined(KW_OPS_RMS_NORM_NATIVE_FORWARD_BODY) == defined(HWY_TARGET_TOGGLE)
#ifdef KW_OPS_RMS_NORM_NATIVE_FORWARD_BODY
#undef KW_OPS_RMS_NORM_NATIVE_FORWARD_BODY
#else
#define KW_OPS_RMS_NORM_NATIVE_FORWARD_BODY
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernelwright/ops/rms_norm/native_row_body.hpp"

HWY_BEFORE_NAMESPACE();
namespace kw::ops::rms_norm::native::HWY_NAMESPACE {

template <Element kX, Variant kVariant>
HWY_INLINE Block normalized(Block x, Vec r, Block weight) {
  Block value = simd::multiply(x, r);
  if constexpr (kVariant == Variant::kUnweighted) return value;
  if constexpr (kVariant == Variant::kStandard)
    value = simd::round_to<kX, simd::Nans::kNarrow>(value);
  if constexpr (kVariant == Variant::kQwen3_5) {
    weight = simd::add(weight, hn::Set(simd::F32(), 1.0F));
  }
  return simd::multiply(value, weight);
}

template <Element kX, Element kW, Variant kVariant>
HWY_INLINE Block weight_block(const Storage<kW>* weight, std::size_t count) {
  if constexpr (kVariant == Variant::kUnweighted) {
    return {hn::Zero(simd::F32()), hn::Zero(simd::F32())};
  } else {
    return count == kBlock ? simd::load<kW, kX>(weight) : simd::load_first<kW, kX>(weight, count);
  }
}

template <Element kX, Element kW, Variant kVariant>
HWY_INLINE void normalize_first(const Storage<kX>* x, const Storage<kW>* weight, Vec r,
                                std::size_t count, Storage<kX>* y) {
  const Block w = weight_block<kX, kW, kVariant>(weight, count);
  const Block value = normalized<kX, kVariant>(simd::load_first<kX>(x, count), r, w);
  simd::store_first<kX>(value, y, count);
}

template <Element kX, Element kW, Variant kVariant, bool kStream>
HWY_INLINE void normalize_block(const Storage<kX>* x, const Storage<kW>* weight, Vec r,
                                Storage<kX>* y, const Storage<kX>* ahead) {
  simd::prefetch<kX>(ahead);
  const Block w = weight_block<kX, kW, kVariant>(weight, kBlock);
  const Block value = normalized<kX, kVariant>(simd::load<kX>(x), r, w);
  simd::store<kX, kX, kStream, kNans<kX, kW>>(value, y);
}

// y = variant(x, r, weight) for `count` elements; touches the lines of `ahead` meanwhile.
template <Element kX, Element kW, Variant kVariant, bool kStream>
HWY_INLINE void normalize(const Storage<kX>* x, const Storage<kW>* weight, float scale,
                          std::size_t count, Storage<kX>* y, const Storage<kX>* ahead) {
  Vec r = hn::Set(simd::F32(), scale);
  if constexpr (kVariant == Variant::kUnweighted) r = simd::round_to<kX>(r);
  std::size_t i = 0;
  if constexpr (kStream) {  // elementwise, so blocks may start anywhere: align the stores
    const std::size_t past = reinterpret_cast<std::uintptr_t>(y) % simd::kVectorBytes;
    i = past == 0 ? 0 : std::min(count, (simd::kVectorBytes - past) / sizeof(*y));
    if (i > 0) normalize_first<kX, kW, kVariant>(x, weight, r, i, y);
  }
  for (; i + simd::kSumStep <= count; i += simd::kSumStep) {  // one step for a row of 128 bf16
    const std::size_t i1 = i + kBlock, i2 = i1 + kBlock, i3 = i2 + kBlock;
    normalize_block<kX, kW, kVariant, kStream>(x + i, weight + i, r, y + i, ahead + i);
    normalize_block<kX, kW, kVariant, kStream>(x + i1, weight + i1, r, y + i1, ahead + i1);
    normalize_block<kX, kW, kVariant, kStream>(x + i2, weight + i2, r, y + i2, ahead + i2);
    normalize_block<kX, kW, kVariant, kStream>(x + i3, weight + i3, r, y + i3, ahead + i3);
  }
  for (; i + kBlock <= count; i += kBlock) {
    normalize_block<kX, kW, kVariant, kStream>(x + i, weight + i, r, y + i, ahead + i);
  }
  if (i < count) normalize_first<kX, kW, kVariant>(x + i, weight + i, r, count - i, y + i);
}

// Rows of one tile at one pitch: the loops of forward_rows without its choices, which cost a row of
// 128 bf16 in the caches 26 of 88 ns.
template <Element kX, Element kW, Variant kVariant, bool kStream>
void forward_short_rows(const ForwardPlan& plan, std::int64_t begin, std::int64_t end) {
  using X = Storage<kX>;
  alignas(64) float scale[kMaxForwardGroup];
  simd::LaneSums<kMaxForwardGroup> sums;
  const auto* weight = static_cast<const Storage<kW>*>(plan.weight.data);
  const std::int64_t hidden = plan.hidden, ahead = plan.ahead, most = plan.group;
  const std::int64_t x_pitch = plan.x.layout.strides[0], y_pitch = plan.y.layout.strides[0];
  const X* x = plan.x.row<X>(begin);
  const X* last = plan.x.row<X>(plan.rows - 1);
  X* y = plan.y.row<X>(begin);
  float* rstd = plan.rstd;
  const float eps = plan.eps;

  for (std::int64_t first = begin; first < end; first += most) {
    const std::int64_t group = std::min(most, end - first);
    for (std::int64_t g = 0; g < group; ++g) {
      sums.put(g, simd::sum_of_squares<kX>(x + g * x_pitch, hidden));
    }
    sums.totals(group, scale);
    reciprocal_root_mean(scale, group, hidden, eps);
    if (rstd != nullptr) std::copy_n(scale, group, rstd + first);
    for (std::int64_t g = 0; g < group; ++g, x += x_pitch, y += y_pitch) {
      const X* next = first + g + ahead < plan.rows ? x + ahead * x_pitch : last;
      normalize<kX, kW, kVariant, kStream>(x, weight, scale[g], hidden, y, next);
    }
  }
  if constexpr (kStream) simd::stream_fence();
}

template <Element kX, Element kW, Variant kVariant, bool kStream>
void forward_rows(const ForwardPlan& plan, std::int64_t begin, std::int64_t end) {
  if (plan.is_short()) {
    forward_short_rows<kX, kW, kVariant, kStream>(plan, begin, end);
    return;
  }
  using X = Storage<kX>;
  using W = Storage<kW>;
  alignas(64) X x_tile[kTile];
  alignas(64) X y_tile[kTile];
  alignas(64) W weight_tile[kTile];
  alignas(64) float scale[kMaxForwardGroup];
  simd::LaneSums<kMaxForwardGroup> sums;
  const auto* weight = static_cast<const W*>(plan.weight.data);
  const std::int64_t weight_stride = plan.weight.layout.inner;
  const std::int64_t x_stride = plan.x.layout.inner, y_stride = plan.y.layout.inner;

  for (std::int64_t first = begin; first < end; first += plan.group) {
    const std::int64_t group = std::min<std::int64_t>(plan.group, end - first);
    for (std::int64_t g = 0; g < group; ++g) {
      const X* x = plan.x.row<X>(first + g);
      simd::ExactSum squares = {hn::Zero(simd::F32()), hn::Zero(simd::F32())};
      for (std::int64_t start = 0; start < plan.hidden; start += kTile) {
        const std::int64_t count = std::min(kTile, plan.hidden - start);
        const X* part = adjacent(x, x_stride, start, count, x_tile);
        add_piece(simd::sum_of_squares<kX>(part, count), start, squares);
      }
      sums.put(g, squares.total());
    }
    sums.totals(group, scale);
    reciprocal_root_mean(scale, group, plan.hidden, plan.eps);
    if (plan.rstd != nullptr) std::copy_n(scale, group, plan.rstd + first);
    for (std::int64_t g = 0; g < group; ++g) {
      const X* x = plan.x.row<X>(first + g);
      X* y = plan.y.row<X>(first + g);
      const X* ahead = plan.x.row<X>(std::min(first + g + plan.ahead, plan.rows - 1));
      for (std::int64_t start = 0; start < plan.hidden; start += plan.tile) {
        const std::int64_t count = std::min(plan.tile, plan.hidden - start);
        const W* w = weight_tile;  // without a weight never read, but counted along
        if constexpr (kVariant != Variant::kUnweighted) {
          w = adjacent(weight, weight_stride, start, count, weight_tile);
        }
        X* target = y_stride == 1 ? y + start : y_tile;
        normalize<kX, kW, kVariant, kStream>(adjacent(x, x_stride, start, count, x_tile), w,
                                             scale[g], count, target, ahead + start);
        if (y_stride != 1) scatter(y_tile, count, y + start * y_stride, y_stride);
      }
    }
  }
  if constexpr (kStream) simd::stream_fence();
}

template <Element kX, Element kW, bool kStream>
ForwardRows select_forward(Variant variant) {
  switch (variant) {
    case Variant::kStandard:  // in f32 the first rounding is none
      return forward_rows < kX, kW, kX == Element::kF32 ? Variant::kFp32 : Variant::kStandard,
             kStream > ;
    case Variant::kFp32:
      return forward_rows<kX, kW, Variant::kFp32, kStream>;
    case Variant::kQwen3_5:
      return forward_rows<kX, kW, Variant::kQwen3_5, kStream>;
    default:
      return forward_rows<kX, kX, Variant::kUnweighted, kStream>;
  }
}

}  // namespace kw::ops::rms_norm::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard
