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

// What the variant multiplies by.
template <Variant kVariant>
HWY_INLINE Block effective(Block weight) {
  if constexpr (kVariant != Variant::kQwen3_5) return weight;
  return simd::add(weight, hn::Set(simd::F32(), 1.0F));
}

// `weight` is the effective one.
template <Element kX, Variant kVariant>
HWY_INLINE Block normalized(Block x, Vec r, Block weight) {
  Block value = simd::multiply(x, r);
  if constexpr (kVariant == Variant::kUnweighted) return value;
  if constexpr (kVariant == Variant::kStandard)
    value = simd::round_to<kX, simd::Nans::kNarrow>(value);
  return simd::multiply(value, weight);
}

template <Element kX, Variant kVariant>
HWY_INLINE Vec scale_of(float scale) {
  const Vec r = hn::Set(simd::F32(), scale);
  return kVariant == Variant::kUnweighted ? simd::round_to<kX>(r) : r;
}

template <Element kX, Element kW, Variant kVariant>
HWY_INLINE Block weight_block(const Storage<kW>* weight, std::size_t count) {
  if constexpr (kVariant == Variant::kUnweighted) {
    return {hn::Zero(simd::F32()), hn::Zero(simd::F32())};
  } else {
    return effective<kVariant>(count == kBlock ? simd::load<kW, kX>(weight)
                                               : simd::load_first<kW, kX>(weight, count));
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
                                Storage<kX>* y) {
  const Block w = weight_block<kX, kW, kVariant>(weight, kBlock);
  const Block value = normalized<kX, kVariant>(simd::load<kX>(x), r, w);
  simd::store<kX, kX, kStream, kNans<kX, kW>>(value, y);
}

// y = variant(x, r, weight) for elements [i, count).
template <Element kX, Element kW, Variant kVariant, bool kStream>
HWY_INLINE void normalize(const Storage<kX>* x, const Storage<kW>* weight, Vec r, std::size_t i,
                          std::size_t count, Storage<kX>* y) {
  for (; i + kBlock <= count; i += kBlock) {
    normalize_block<kX, kW, kVariant, kStream>(x + i, weight + i, r, y + i);
  }
  if (i < count) normalize_first<kX, kW, kVariant>(x + i, weight + i, r, count - i, y + i);
}

// The second pass over `count` elements of a row, and meanwhile the first one over `next_count`
// elements of a later row: their squares, spread over the lanes, in the order of sum_of_squares.
template <Element kX, Element kW, Variant kVariant, bool kStream>
HWY_INLINE Vec forward_piece(const Storage<kX>* x, const Storage<kW>* weight, Vec r,
                             std::size_t count, Storage<kX>* y, const Storage<kX>* next,
                             std::size_t next_count) {
  simd::PieceSum squares;
  std::size_t i = 0;
  const auto both = [&](std::size_t k, Block & part) HWY_ATTR __attribute__((always_inline)) {
    simd::prefetch<kX>(next + k + kAhead<kX>);
    normalize_block<kX, kW, kVariant, kStream>(x + k, weight + k, r, y + k);
    simd::add_square<kX>(next + k, part);
  };
  for (const std::size_t end = std::min(count, next_count); i + simd::kSumStep <= end;
       i += simd::kSumStep) {
    both(i, squares.part0);
    both(i + kBlock, squares.part1);
  }
  normalize<kX, kW, kVariant, kStream>(x, weight, r, i, count, y);
  simd::add_squares<kX>(next, i, next_count, squares);
  return squares.total();
}

// One row of adjacent elements from its scale, and the squares of `next`, a row of the next group;
// of none where it is null.
template <Element kX, Element kW, Variant kVariant, bool kStream>
HWY_INLINE Vec forward_row(const Storage<kX>* x, const Storage<kW>* weight, float scale,
                           std::size_t hidden, Storage<kX>* y, const Storage<kX>* next) {
  const Vec r = scale_of<kX, kVariant>(scale);
  simd::ExactSum squares = {hn::Zero(simd::F32()), hn::Zero(simd::F32())};
  std::size_t done = 0;
  if constexpr (kStream) {  // elementwise, so blocks may start anywhere: align the stores
    const std::size_t past = reinterpret_cast<std::uintptr_t>(y) % simd::kVectorBytes;
    done = past == 0 ? 0 : std::min(hidden, (simd::kVectorBytes - past) / sizeof(*y));
    if (done > 0) normalize_first<kX, kW, kVariant>(x, weight, r, done, y);
  }
  if (hidden <= kTile) {  // without the choices of the loop a row of 64 takes 28 ns, with them 32
    return forward_piece<kX, kW, kVariant, kStream>(x + done, weight + done, r, hidden - done,
                                                    y + done, next, next != nullptr ? hidden : 0);
  }
  for (std::size_t start = 0; start < hidden; start += kTile) {
    const std::size_t piece = std::min<std::size_t>(kTile, hidden - start);
    const std::size_t count = std::min(piece, hidden - done);
    const Vec part = forward_piece<kX, kW, kVariant, kStream>(
        x + done, weight + done, r, count, y + done, next + start, next != nullptr ? piece : 0);
    add_piece(part, start, squares);
    done += count;
  }
  return squares.total();
}

// The same for a short row of whole blocks that is stored from a block's boundary, `weight` being
// the effective one in blocks of x's order: the loop has no other lengths to ask for. Rows of 128
// bf16 in the caches take 21 ns instead of 24.
template <Element kX, Element kW, Variant kVariant, bool kStream>
HWY_INLINE Vec forward_narrow_row(const Storage<kX>* x, const float* weight, float scale,
                                  std::size_t hidden, Storage<kX>* y, const Storage<kX>* next) {
  const Vec r = scale_of<kX, kVariant>(scale);
  if (next == nullptr) next = x;  // the last group: squares that nobody asks for
  simd::PieceSum squares;
  const auto both = [&](std::size_t i, Block & part) HWY_ATTR __attribute__((always_inline)) {
    simd::prefetch<kX>(next + i + kNarrowAhead<kX>);
    Block w = simd::zero_block();
    if constexpr (kVariant != Variant::kUnweighted) w = simd::load<Element::kF32>(weight + i);
    const Block value = normalized<kX, kVariant>(simd::load<kX>(x + i), r, w);
    simd::store<kX, kX, kStream, kNans<kX, kW>>(value, y + i);
    simd::add_square<kX>(next + i, part);
  };
  std::size_t i = 0;
  for (; i + simd::kSumStep <= hidden; i += simd::kSumStep) {
    both(i, squares.part0);
    both(i + kBlock, squares.part1);
  }
  if (i < hidden) both(i, squares.part0);
  return squares.total();
}

// Rows of adjacent elements, kNarrow: forward_narrow_row takes them. Memory has the same work all
// the time: the second pass over a group takes the first one over the next group along.
template <Element kX, Element kW, Variant kVariant, bool kStream, bool kNarrow>
void forward_adjacent_rows(const ForwardPlan& plan, std::int64_t begin, std::int64_t end) {
  using X = Storage<kX>;
  alignas(64) float scale[kMaxForwardGroup];
  alignas(64) float narrow_weight[kNarrow ? kNarrowWidth : 1];
  simd::LaneSums<kMaxForwardGroup> sums;
  const auto* weight = static_cast<const Storage<kW>*>(plan.weight.data);
  const std::int64_t most = plan.group;
  const auto hidden = static_cast<std::size_t>(plan.hidden);
  if constexpr (kNarrow && kVariant != Variant::kUnweighted) {
    for (std::size_t i = 0; i < hidden; i += kBlock) {
      const Block w = weight_block<kX, kW, kVariant>(weight + i, kBlock);
      simd::store<Element::kF32>(w, narrow_weight + i);
    }
  }

  for (std::int64_t g = 0; g < std::min(most, end - begin); ++g) {
    sums.put(g, row_squares<kX>(plan.x.row<X>(begin + g), hidden));
  }
  for (std::int64_t first = begin; first < end; first += most) {
    const std::int64_t group = std::min(most, end - first);
    sums.totals(group, scale);
    reciprocal_root_mean(scale, group, plan.hidden, plan.eps);
    if (plan.rstd != nullptr) std::copy_n(scale, group, plan.rstd + first);
    for (std::int64_t g = 0; g < group; ++g) {
      const std::int64_t row = first + g;
      const X* x = plan.x.row<X>(row);
      const X* next = row + most < end ? plan.x.row<X>(row + most) : nullptr;
      X* y = plan.y.row<X>(row);
      if constexpr (kNarrow) {
        sums.put(g, forward_narrow_row<kX, kW, kVariant, kStream>(x, narrow_weight, scale[g],
                                                                  hidden, y, next));
      } else {
        sums.put(g, forward_row<kX, kW, kVariant, kStream>(x, weight, scale[g], hidden, y, next));
      }
    }
  }
  if constexpr (kStream) simd::stream_fence();
}

template <Element kX, Element kW, Variant kVariant, bool kStream>
void forward_rows(const ForwardPlan& plan, std::int64_t begin, std::int64_t end) {
  const bool narrow = plan.hidden <= kNarrowWidth && plan.hidden % kBlock == 0;
  if (narrow && (!kStream || plan.aligned)) {
    forward_adjacent_rows<kX, kW, kVariant, kStream, true>(plan, begin, end);
  } else {
    forward_adjacent_rows<kX, kW, kVariant, kStream, false>(plan, begin, end);
  }
}

// Rows of elements that are not adjacent, gathered in tiles.
template <Element kX, Element kW, Variant kVariant>
void forward_strided_rows(const ForwardPlan& plan, std::int64_t begin, std::int64_t end) {
  using X = Storage<kX>;
  using W = Storage<kW>;
  alignas(64) X x_tile[kTile];
  alignas(64) X y_tile[kTile];
  alignas(64) W weight_tile[kTile];
  alignas(64) float scale[simd::kLanes];
  simd::LaneSums<4> sums;
  const auto* weight = static_cast<const W*>(plan.weight.data);
  const std::int64_t weight_stride = plan.weight.layout.inner;
  const std::int64_t x_stride = plan.x.layout.inner, y_stride = plan.y.layout.inner;

  for (std::int64_t row = begin; row < end; ++row) {
    const X* x = plan.x.row<X>(row);
    X* y = plan.y.row<X>(row);
    simd::ExactSum squares = {hn::Zero(simd::F32()), hn::Zero(simd::F32())};
    for (std::int64_t start = 0; start < plan.hidden; start += kTile) {
      const std::int64_t count = std::min(kTile, plan.hidden - start);
      const X* part = adjacent(x, x_stride, start, count, x_tile);
      add_piece(simd::sum_of_squares<kX>(part, count), start, squares);
    }
    sums.put(0, squares.total());
    sums.totals(1, scale);
    reciprocal_root_mean(scale, 1, plan.hidden, plan.eps);
    if (plan.rstd != nullptr) plan.rstd[row] = scale[0];
    for (std::int64_t start = 0; start < plan.hidden; start += kTile) {
      const std::int64_t count = std::min(kTile, plan.hidden - start);
      const W* w = weight_tile;  // without a weight never read, but counted along
      if constexpr (kVariant != Variant::kUnweighted) {
        w = adjacent(weight, weight_stride, start, count, weight_tile);
      }
      X* target = y_stride == 1 ? y + start : y_tile;
      normalize<kX, kW, kVariant, false>(adjacent(x, x_stride, start, count, x_tile), w,
                                         scale_of<kX, kVariant>(scale[0]), 0, count, target);
      if (y_stride != 1) scatter(y_tile, count, y + start * y_stride, y_stride);
    }
  }
}

template <Element kX, Element kW, Variant kVariant>
ForwardRows select_rows(RowsMode mode) {
  if (mode == RowsMode::kStrided) return forward_strided_rows<kX, kW, kVariant>;
  return mode == RowsMode::kStreamed ? forward_rows<kX, kW, kVariant, true>
                                     : forward_rows<kX, kW, kVariant, false>;
}

template <Element kX, Element kW>
ForwardRows select_forward(Variant variant, RowsMode mode) {
  // In f32 the first rounding of the standard variant is none.
  constexpr Variant kStandard = kX == Element::kF32 ? Variant::kFp32 : Variant::kStandard;
  switch (variant) {
    case Variant::kStandard:
      return select_rows<kX, kW, kStandard>(mode);
    case Variant::kFp32:
      return select_rows<kX, kW, Variant::kFp32>(mode);
    case Variant::kQwen3_5:
      return select_rows<kX, kW, Variant::kQwen3_5>(mode);
    default:
      return select_rows<kX, kX, Variant::kUnweighted>(mode);
  }
}

}  // namespace kw::ops::rms_norm::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard
