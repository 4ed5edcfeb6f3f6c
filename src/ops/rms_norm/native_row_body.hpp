// SPDX-License-Identifier: Apache-2.0
// What the forward and the backward row kernels share. Compiled once per Highway target.
#if defined(KW_OPS_RMS_NORM_NATIVE_ROW_BODY) == defined(HWY_TARGET_TOGGLE)
#ifdef KW_OPS_RMS_NORM_NATIVE_ROW_BODY
#undef KW_OPS_RMS_NORM_NATIVE_ROW_BODY
#else
#define KW_OPS_RMS_NORM_NATIVE_ROW_BODY
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernelwright/kit/cpu/blocks-inl.hpp"
#include "kernelwright/kit/cpu/sums-inl.hpp"
#include "kernelwright/ops/rms_norm/native_kernels.hpp"
#include "kernelwright/ops/rms_norm/native_plan.hpp"

HWY_BEFORE_NAMESPACE();
namespace kw::ops::rms_norm::native::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = kit::cpu::HWY_NAMESPACE;
using kit::Element;
using kit::cpu::Storage;
using simd::Block;
using simd::kBlock;
using simd::Vec;

static_assert(kMaxForwardGroup % simd::kLanes == 0 && kNarrowGroup <= kMaxVector);

// Every NaN of a result comes from an operand or is the default one. The host makes NaNs of eps and
// rstd default ones, so that only an f32 weight can bring a payload that bf16 does not have.
template <Element kX, Element kW>
inline constexpr simd::Nans kNans = kW == kX ? simd::Nans::kNarrow : simd::Nans::kAny;

// Elements between what a first pass reads and the lines it fetches meanwhile.
template <Element kX>
inline constexpr std::size_t kAhead = kAheadBytes / sizeof(Storage<kX>);
template <Element kX>
inline constexpr std::size_t kNarrowAhead = kNarrowAheadBytes / sizeof(Storage<kX>);

// values[i] = 1 / sqrt(values[i] / hidden + eps) for `count` rows, rounded up to a vector: the
// square roots and divisions of a group overlap. What the quotient, the sum, the root and its
// reciprocal lose is put back: a scale that is 1.4 ulp off shifts a whole f32 row by as much.
HWY_INLINE void reciprocal_root_mean(float* values, std::int64_t count, std::int64_t hidden,
                                     float eps) {
  const simd::F32 f32;
  const Vec columns = hn::Set(f32, static_cast<float>(hidden)), one = hn::Set(f32, 1.0F);
  const Vec eps_all = hn::Set(f32, eps);
  for (std::int64_t i = 0; i < count; i += simd::kLanes) {
    const Vec sum = hn::Load(f32, values + i);
    const Vec mean = hn::Div(sum, columns);
    const Vec total = hn::Add(mean, eps_all), from_eps = hn::Sub(total, mean);
    const Vec root = hn::Sqrt(total);
    const Vec result = hn::Div(one, root);
    Vec lost = hn::Add(hn::Sub(mean, hn::Sub(total, from_eps)), hn::Sub(eps_all, from_eps));
    lost = hn::Add(lost, hn::Div(hn::NegMulAdd(mean, columns, sum), columns));
    lost = hn::Add(lost, hn::NegMulAdd(root, root, total));
    const Vec half = hn::Mul(hn::Mul(hn::Mul(lost, result), result), hn::Set(f32, 0.5F));
    const Vec off = hn::Sub(hn::NegMulAdd(result, root, one), half);
    const auto finite = hn::Eq(off, off);  // not of 0, infinity, NaN
    hn::Store(hn::IfThenElse(finite, hn::MulAdd(result, off, result), result), f32, values + i);
  }
}

// Rows of one piece skip the exact addition.
HWY_INLINE void add_piece(Vec piece, std::int64_t start, simd::ExactSum& sum) {
  if (start == 0) {
    sum.value = piece;
  } else {
    sum.add(piece);
  }
}

// The squares of a row of adjacent elements, spread over the lanes.
template <Element kX>
HWY_INLINE Vec row_squares(const Storage<kX>* x, std::size_t hidden) {
  simd::ExactSum squares = {hn::Zero(simd::F32()), hn::Zero(simd::F32())};
  for (std::size_t start = 0; start < hidden; start += kTile) {
    const std::size_t count = std::min<std::size_t>(kTile, hidden - start);
    add_piece(simd::sum_of_squares<kX>(x + start, count), start, squares);
  }
  return squares.total();
}

}  // namespace kw::ops::rms_norm::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard
