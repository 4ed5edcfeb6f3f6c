// SPDX-License-Identifier: Apache-2.0
// Row kernels of rms_norm and rms_norm_backward, compiled once per Highway target by native.cpp,
// the only file that includes this one. No threads, no dispatch on tensors, no allocation.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernelwright/kit/cpu/row_layout.hpp"
#include "kernelwright/ops/rms_norm/native_kernels.hpp"

#ifndef KW_OPS_RMS_NORM_NATIVE_BODY
#define KW_OPS_RMS_NORM_NATIVE_BODY

namespace kw::ops::rms_norm::native {

using kit::cpu::RowLayout;

// A row is summed in pieces of this many elements, each in short chains, the pieces exactly: with
// one chain 262144 bf16 came out 40 ulp off. Also what is gathered where elements are not adjacent.
inline constexpr std::int64_t kTile = 1024;

// Most rows whose sums are in flight together in the forward. Rows of 128 bf16 reach 0.61 of the
// copy rate in pairs, 0.77 by 16, 0.79 by 32, 0.74 by 64.
inline constexpr int kMaxForwardGroup = 32;

// Most rows that share one pass over dweight. Rows of 128 and of 4096 bf16 ran at
// 0.55-0.62 of the copy rate with 1 row, 0.70-0.78 with 2 or 4, 0.55-0.61 with 16.
inline constexpr int kMaxBackwardGroup = 4;

// Room for the scalars of a group in whole vectors of any target.
inline constexpr int kMaxVector = 16;

// The backward of rows up to this width reads a row once, kNarrowGroup rows at a time, and keeps in
// L1 what its second pass needs: from the caches 55 ns a row of 128 bf16 instead of 87.
inline constexpr std::int64_t kNarrowWidth = 256;
inline constexpr int kNarrowGroup = 8;
// Rows whose terms of dweight are added in plain f32 before they enter the exact sum.
inline constexpr int kNarrowSumRows = 16;

// A tensor of rows. Outputs are written through `data` too.
struct Rows {
  void* data = nullptr;
  RowLayout layout;

  template <typename S>
  S* row(std::int64_t index) const {
    return static_cast<S*>(data) + layout.offset(index);
  }
};

struct ForwardPlan {
  Rows x, y, weight;
  float* rstd = nullptr;
  std::int64_t rows = 0, hidden = 0;
  std::int64_t tile = 0;  // hidden where every row is adjacent, else kTile
  float eps = 0;
  int group = 1;
  int ahead = 0;  // rows between a row at work and the one whose lines are fetched meanwhile
};

struct BackwardPlan {
  Rows dy, x, weight, dx;
  const float* rstd = nullptr;
  Rows dweight;
  float* partials = nullptr;  // [chunks][value, error][width]
  std::int64_t rows = 0, hidden = 0;
  std::int64_t tile = 0;
  std::int64_t chunk_rows = 0, chunks = 0, width = 0;
  float eps = 0;
  float offset = 0;  // added to the weight
  int group = 1;
  int ahead = 0;  // rows between a row at work and the one whose lines are fetched meanwhile
};

using ForwardRows = void (*)(const ForwardPlan& plan, std::int64_t begin, std::int64_t end);
using BackwardRows = void (*)(const BackwardPlan& plan, std::int64_t chunk);
using ReduceColumns = void (*)(const BackwardPlan& plan, std::int64_t begin, std::int64_t end);

inline float default_nan(float value) {
  return value == value ? value : std::numeric_limits<float>::quiet_NaN();
}

template <typename S>
void gather(const S* from, std::int64_t stride, std::int64_t count, S* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
}

template <typename S>
void scatter(const S* from, std::int64_t count, S* to, std::int64_t stride) {
  for (std::int64_t i = 0; i < count; ++i) to[i * stride] = from[i];
}

// `count` adjacent elements of a row from `start`: in place, or gathered into `tile`.
template <typename S>
const S* adjacent(const S* row, std::int64_t stride, std::int64_t start, std::int64_t count,
                  S* tile) {
  if (stride == 1) return row + start;
  gather(row + start * stride, stride, count, tile);
  return tile;
}

}  // namespace kw::ops::rms_norm::native
#endif

#if defined(KW_OPS_RMS_NORM_NATIVE_BODY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef KW_OPS_RMS_NORM_NATIVE_BODY_INL
#undef KW_OPS_RMS_NORM_NATIVE_BODY_INL
#else
#define KW_OPS_RMS_NORM_NATIVE_BODY_INL
#endif

#include "kernelwright/kit/cpu/blocks-inl.hpp"
#include "kernelwright/kit/cpu/sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace kw::ops::rms_norm::native::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = kit::cpu::HWY_NAMESPACE;
using kit::Element;
using kit::cpu::Storage;
using simd::Block;
using simd::kBlock;
using simd::Vec;

static_assert(kMaxForwardGroup % simd::kLanes == 0 && kMaxBackwardGroup <= kMaxVector);

// Every NaN of a result comes from an operand or is the default one. The host makes NaNs of eps and
// rstd default ones, so that only an f32 weight can bring a payload that bf16 does not have.
template <Element kX, Element kW>
inline constexpr simd::Nans kNans = kW == kX ? simd::Nans::kNarrow : simd::Nans::kAny;

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

template <Element kX, Element kW, Variant kVariant, bool kStream>
void forward_rows(const ForwardPlan& plan, std::int64_t begin, std::int64_t end) {
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

// sum += dy (offset + weight) x over one block
template <Element kX, Element kW, bool kWeighted>
HWY_INLINE void add_product(const Storage<kX>* dy, const Storage<kX>* x, const Storage<kW>* weight,
                            Vec offset, Block& sum) {
  Block m = simd::load<kX>(dy);
  if constexpr (kWeighted) {
    m = simd::multiply(m, simd::add(simd::load<kW, kX>(weight), offset));
  }
  sum = simd::multiply_add(m, simd::load<kX>(x), sum);
}

template <Element kX, Element kW, bool kWeighted>
HWY_INLINE Vec sum_of_products(const Storage<kX>* dy, const Storage<kX>* x,
                               const Storage<kW>* weight, Vec offset, std::size_t count) {
  simd::PieceSum sum;
  std::size_t i = 0;
  for (; i + simd::kSumStep <= count; i += simd::kSumStep) {
    const std::size_t i1 = i + kBlock, i2 = i1 + kBlock, i3 = i2 + kBlock;
    add_product<kX, kW, kWeighted>(dy + i, x + i, weight + i, offset, sum.part0);
    add_product<kX, kW, kWeighted>(dy + i1, x + i1, weight + i1, offset, sum.part1);
    add_product<kX, kW, kWeighted>(dy + i2, x + i2, weight + i2, offset, sum.part2);
    add_product<kX, kW, kWeighted>(dy + i3, x + i3, weight + i3, offset, sum.part3);
  }
  for (; i + kBlock <= count; i += kBlock) {
    add_product<kX, kW, kWeighted>(dy + i, x + i, weight + i, offset, sum.part0);
  }
  if (i < count) {
    Block m = simd::load_first<kX>(dy + i, count - i);
    if constexpr (kWeighted) {
      m = simd::multiply(m, simd::add(simd::load_first<kW, kX>(weight + i, count - i), offset));
    }
    sum.part1 = simd::multiply_add(m, simd::load_first<kX>(x + i, count - i), sum.part1);
  }
  return sum.total();
}

// The rows of one group within one tile of columns.
template <Element kX>
struct GroupTile {
  const Storage<kX>* dy[kMaxBackwardGroup];
  const Storage<kX>* x[kMaxBackwardGroup];
  Storage<kX>* dx[kMaxBackwardGroup];
  const Storage<kX>* dy_ahead[kMaxBackwardGroup];
  const Storage<kX>* x_ahead[kMaxBackwardGroup];
  std::int64_t rows;
};

// dx of one row in one block of columns, and its terms of dweight.
template <bool kWeighted, bool kDx, bool kDw>
HWY_INLINE Block backward_row(Block dy, Block x, Block w, Vec scale, Vec mean, Block& sum) {
  const Block xh = simd::multiply(x, scale);
  if constexpr (kDw) sum = simd::multiply_add(dy, xh, sum);
  if constexpr (!kDx) return xh;
  const Block m = kWeighted ? simd::multiply(dy, w) : dy;
  return {hn::Mul(scale, hn::NegMulAdd(xh.a, mean, m.a)),
          hn::Mul(scale, hn::NegMulAdd(xh.b, mean, m.b))};
}

// value, error += sum for one block of columns.
HWY_INLINE void add_to_partial(Block sum, float* value, float* error) {
  const simd::F32 f32;
  simd::ExactSum a = {hn::LoadU(f32, value), hn::LoadU(f32, error)};
  simd::ExactSum b = {hn::LoadU(f32, value + simd::kLanes), hn::LoadU(f32, error + simd::kLanes)};
  a.add(sum.a);
  b.add(sum.b);
  hn::StoreU(a.value, f32, value);
  hn::StoreU(a.error, f32, error);
  hn::StoreU(b.value, f32, value + simd::kLanes);
  hn::StoreU(b.error, f32, error + simd::kLanes);
}

// Blocks of a row that are stored together: whole cache lines, because a line that is streamed in
// halves with other rows between them leaves the store buffers half full (rows of 128 bf16 on AVX2:
// 0.13 of the copy rate instead of 0.6).
template <Element kX>
inline constexpr std::size_t kBlocksPerStep = kBlock * sizeof(Storage<kX>) <= 64 ? 2 : 1;

// All rows of the group in kBlocksPerStep blocks of columns from `i`.
template <Element kX, Element kW, bool kWeighted, bool kDx, bool kDw, bool kStream>
HWY_INLINE void backward_step(const GroupTile<kX>& tile, const Storage<kW>* weight, Vec offset,
                              const float* r, const float* c, std::size_t i, float* value,
                              float* error) {
  constexpr bool kTwo = kBlocksPerStep<kX> == 2;
  const simd::F32 f32;
  const std::size_t j = i + kBlock;
  Block w0 = simd::zero_block(), w1 = w0, sum0 = w0, sum1 = w0;
  if constexpr (kWeighted && kDx) {
    w0 = simd::add(simd::load<kW, kX>(weight + i), offset);
    if constexpr (kTwo) w1 = simd::add(simd::load<kW, kX>(weight + j), offset);
  }
  for (std::int64_t g = 0; g < tile.rows; ++g) {
    simd::prefetch<kX>(tile.dy_ahead[g] + i);
    simd::prefetch<kX>(tile.x_ahead[g] + i);
    if constexpr (kTwo && kBlock * sizeof(*tile.x[g]) == 64) {  // a block is a line
      simd::prefetch<kX>(tile.dy_ahead[g] + j);
      simd::prefetch<kX>(tile.x_ahead[g] + j);
    }
    const Vec scale = hn::Set(f32, r[g]), mean = hn::Set(f32, c[g]);
    const Block dx0 = backward_row<kWeighted, kDx, kDw>(
        simd::load<kX>(tile.dy[g] + i), simd::load<kX>(tile.x[g] + i), w0, scale, mean, sum0);
    if constexpr (kDx) simd::store<kX, kX, kStream, kNans<kX, kW>>(dx0, tile.dx[g] + i);
    if constexpr (kTwo) {
      const Block dx1 = backward_row<kWeighted, kDx, kDw>(
          simd::load<kX>(tile.dy[g] + j), simd::load<kX>(tile.x[g] + j), w1, scale, mean, sum1);
      if constexpr (kDx) simd::store<kX, kX, kStream, kNans<kX, kW>>(dx1, tile.dx[g] + j);
    }
  }
  if constexpr (kDw) add_to_partial(sum0, value + i, error + i);
  if constexpr (kDw && kTwo) add_to_partial(sum1, value + j, error + j);
}

// The same for the first `count` columns of one block.
template <Element kX, Element kW, bool kWeighted, bool kDx, bool kDw>
HWY_INLINE void backward_first(const GroupTile<kX>& tile, const Storage<kW>* weight, Vec offset,
                               const float* r, const float* c, std::size_t i, std::size_t count,
                               float* value, float* error) {
  const simd::F32 f32;
  Block w = simd::zero_block(), sum = w;
  if constexpr (kWeighted && kDx) {
    w = simd::add(simd::load_first<kW, kX>(weight + i, count), offset);
  }
  for (std::int64_t g = 0; g < tile.rows; ++g) {
    const Block dx = backward_row<kWeighted, kDx, kDw>(
        simd::load_first<kX>(tile.dy[g] + i, count), simd::load_first<kX>(tile.x[g] + i, count), w,
        hn::Set(f32, r[g]), hn::Set(f32, c[g]), sum);
    if constexpr (kDx) simd::store_first<kX>(dx, tile.dx[g] + i, count);
  }
  if constexpr (kDw) add_to_partial(sum, value + i, error + i);
}

// What the first pass over a narrow group leaves to the second one and to dweight.
struct NarrowScratch {
  alignas(64) float sums[kNarrowWidth];    // dweight of the group
  alignas(64) float weight[kNarrowWidth];  // offset + weight in blocks of x's order
  // [block of columns][row][m = dy (offset + weight), xh = x r]
  alignas(64) float terms[kNarrowWidth / kBlock][kNarrowGroup][2][kBlock];
  simd::LaneSums<kNarrowGroup> products;

  HWY_INLINE NarrowScratch() {}  // written out, as in sums-inl.hpp
};

// One block of one row on its only way through the processor.
template <Element kX, bool kWeighted, bool kDx, bool kDw>
HWY_INLINE void narrow_block(const Storage<kX>* dy_row, const Storage<kX>* x_row, std::size_t count,
                             Block w, Vec scale, Block& product, Block& sum,
                             float (&terms)[2][kBlock]) {
  const bool whole = count == kBlock;
  const Block dy = whole ? simd::load<kX>(dy_row) : simd::load_first<kX>(dy_row, count);
  const Block x = whole ? simd::load<kX>(x_row) : simd::load_first<kX>(x_row, count);
  const Block xh = simd::multiply(x, scale);
  if constexpr (kDw) sum = simd::multiply_add(dy, xh, sum);
  if constexpr (kDx) {
    const Block m = kWeighted ? simd::multiply(dy, w) : dy;
    product = simd::multiply_add(m, x, product);
    simd::store<Element::kF32>(m, terms[0]);
    simd::store<Element::kF32>(xh, terms[1]);
  }
}

// First pass over rows [g, g + kRows) of the group. Written out: at -O3 g++ keeps the accumulators
// and addresses of a loop over rows in memory.
template <Element kX, bool kWeighted, bool kDx, bool kDw, int kRows>
HWY_INLINE void narrow_rows(const Storage<kX>* const* dy, const Storage<kX>* const* x,
                            std::size_t hidden, const float* r, std::size_t g,
                            NarrowScratch& scratch) {
  static_assert(kRows == 1 || kRows == 4);
  constexpr int k1 = kRows > 1 ? 1 : 0, k2 = kRows / 2, k3 = kRows - 1;
  const simd::F32 f32;
  const Storage<kX>*dy0 = dy[0], *dy1 = dy[k1], *dy2 = dy[k2], *dy3 = dy[k3];
  const Storage<kX>*x0 = x[0], *x1 = x[k1], *x2 = x[k2], *x3 = x[k3];
  const Vec r0 = hn::Set(f32, r[g]), r1 = hn::Set(f32, r[g + k1]);
  const Vec r2 = hn::Set(f32, r[g + k2]), r3 = hn::Set(f32, r[g + k3]);
  Block p0 = simd::zero_block(), p1 = p0, p2 = p0, p3 = p0, w = p0, sum = p0;
  std::size_t i = 0;
  auto* terms = &scratch.terms[0][g];
  const auto columns = [&](std::size_t count) HWY_ATTR __attribute__((always_inline)) {
    if constexpr (kWeighted && kDx) w = simd::load<Element::kF32>(scratch.weight + i);
    if constexpr (kDw) sum = simd::load<Element::kF32>(scratch.sums + i);
    narrow_block<kX, kWeighted, kDx, kDw>(dy0 + i, x0 + i, count, w, r0, p0, sum, terms[0]);
    if constexpr (kRows == 4) {
      narrow_block<kX, kWeighted, kDx, kDw>(dy1 + i, x1 + i, count, w, r1, p1, sum, terms[k1]);
      narrow_block<kX, kWeighted, kDx, kDw>(dy2 + i, x2 + i, count, w, r2, p2, sum, terms[k2]);
      narrow_block<kX, kWeighted, kDx, kDw>(dy3 + i, x3 + i, count, w, r3, p3, sum, terms[k3]);
    }
    if constexpr (kDw) simd::store<Element::kF32>(sum, scratch.sums + i);
  };
  for (; i + kBlock <= hidden; i += kBlock, terms += kNarrowGroup) columns(kBlock);
  if (i < hidden) columns(hidden - i);
  if constexpr (kDx) {
    scratch.products.put(g, hn::Add(p0.a, p0.b));
    if constexpr (kRows == 4) {
      scratch.products.put(g + k1, hn::Add(p1.a, p1.b));
      scratch.products.put(g + k2, hn::Add(p2.a, p2.b));
      scratch.products.put(g + k3, hn::Add(p3.a, p3.b));
    }
  }
}

// Second pass over row g: dx from its terms. Fetches a row of the next group meanwhile, else memory
// would rest in this pass: rows of 128 bf16 reach 0.86 of the copy rate with, 0.71 without.
template <Element kX, Element kW, bool kStream>
HWY_INLINE void narrow_gradient(const NarrowScratch& scratch, std::size_t g, std::size_t hidden,
                                Vec scale, Vec mean, Storage<kX>* dx, const Storage<kX>* dy_ahead,
                                const Storage<kX>* x_ahead) {
  const auto* terms = &scratch.terms[0][g];
  for (std::size_t i = 0; i < hidden; i += kBlock, terms += kNarrowGroup) {
    const Block m = simd::load<Element::kF32>((*terms)[0]),
                xh = simd::load<Element::kF32>((*terms)[1]);
    const Block value = {hn::Mul(scale, hn::NegMulAdd(xh.a, mean, m.a)),
                         hn::Mul(scale, hn::NegMulAdd(xh.b, mean, m.b))};
    if (i + kBlock <= hidden) {
      simd::prefetch<kX>(dy_ahead + i);
      simd::prefetch<kX>(x_ahead + i);
      simd::store<kX, kX, kStream, kNans<kX, kW>>(value, dx + i);
    } else {
      simd::store_first<kX>(value, dx + i, hidden - i);
    }
  }
}

template <Element kX, Element kW, bool kWeighted, bool kDx, bool kDw, bool kStream>
void narrow_chunk(const BackwardPlan& plan, std::int64_t chunk) {
  using X = Storage<kX>;
  using W = Storage<kW>;
  alignas(64) X dy_tile[4][kNarrowWidth];
  alignas(64) X x_tile[4][kNarrowWidth];
  alignas(64) X dx_tile[kNarrowWidth];
  alignas(64) W weight_tile[kNarrowWidth];
  alignas(64) float r[kMaxVector], c[kMaxVector];
  NarrowScratch scratch;
  simd::LaneSums<kNarrowGroup> squares;
  const simd::F32 f32;
  const auto hidden = static_cast<std::size_t>(plan.hidden);
  const std::size_t padded = (hidden + kBlock - 1) / kBlock * kBlock;
  const std::int64_t dy_stride = plan.dy.layout.inner, x_stride = plan.x.layout.inner;
  const std::int64_t dx_stride = plan.dx.layout.inner;
  float* value = kDw ? plan.partials + chunk * 2 * plan.width : nullptr;
  float* error = kDw ? value + plan.width : nullptr;
  if constexpr (kDw) {  // what reduce_columns reads
    std::fill_n(value, padded, 0.0F);
    std::fill_n(error, padded, 0.0F);
    std::fill_n(scratch.sums, padded, 0.0F);
  }
  if constexpr (kWeighted && kDx) {
    const W* weight = adjacent(static_cast<const W*>(plan.weight.data), plan.weight.layout.inner, 0,
                               plan.hidden, weight_tile);
    for (std::size_t i = 0; i < hidden; i += kBlock) {
      const Block w = simd::load_first<kW, kX>(weight + i, std::min(kBlock, hidden - i));
      simd::store<Element::kF32>(simd::add(w, hn::Set(f32, plan.offset)), scratch.weight + i);
    }
  }

  const std::int64_t begin = chunk * plan.chunk_rows;
  const std::int64_t end = std::min(plan.rows, begin + plan.chunk_rows);
  for (std::int64_t first = begin; first < end; first += kNarrowGroup) {
    const std::int64_t rows = std::min<std::int64_t>(kNarrowGroup, end - first);
    if (plan.rstd == nullptr) {
      for (std::int64_t g = 0; g < rows; ++g) {
        const X* x = adjacent(plan.x.row<X>(first + g), x_stride, 0, plan.hidden, x_tile[0]);
        squares.put(g, simd::sum_of_squares<kX>(x, hidden));
      }
      squares.totals(rows, r);
      reciprocal_root_mean(r, rows, plan.hidden, plan.eps);
    } else {
      for (std::int64_t g = 0; g < rows; ++g) r[g] = default_nan(plan.rstd[first + g]);
    }
    for (std::int64_t g = 0; g < rows;) {
      const std::int64_t step = rows - g >= 4 ? 4 : 1;
      const X *dy[4], *x[4];
      for (std::int64_t k = 0; k < step; ++k) {
        const std::int64_t row = first + g + k;
        dy[k] = adjacent(plan.dy.row<X>(row), dy_stride, 0, plan.hidden, dy_tile[k]);
        x[k] = adjacent(plan.x.row<X>(row), x_stride, 0, plan.hidden, x_tile[k]);
      }
      if (step == 4) {
        narrow_rows<kX, kWeighted, kDx, kDw, 4>(dy, x, hidden, r, g, scratch);
      } else {
        narrow_rows<kX, kWeighted, kDx, kDw, 1>(dy, x, hidden, r, g, scratch);
      }
      g += step;
    }
    if (kDw && ((first - begin) % kNarrowSumRows == kNarrowSumRows - kNarrowGroup ||
                first + rows == end)) {
      for (std::size_t i = 0; i < padded; i += kBlock) {
        add_to_partial(simd::load<Element::kF32>(scratch.sums + i), value + i, error + i);
        simd::store<Element::kF32>(simd::zero_block(), scratch.sums + i);
      }
    }
    if constexpr (kDx) {
      scratch.products.totals(rows, c);
      for (std::int64_t g = 0; g < rows; ++g) {
        const float mean = c[g] * r[g] / static_cast<float>(plan.hidden);
        const std::int64_t next = std::min(first + g + plan.ahead, plan.rows - 1);
        X* row = plan.dx.row<X>(first + g);
        narrow_gradient<kX, kW, kStream>(scratch, g, hidden, hn::Set(f32, r[g]), hn::Set(f32, mean),
                                         dx_stride == 1 ? row : dx_tile, plan.dy.row<X>(next),
                                         plan.x.row<X>(next));
        if (dx_stride != 1) scatter(dx_tile, plan.hidden, row, dx_stride);
      }
    }
  }
  if constexpr (kStream) simd::stream_fence();
}

template <Element kX, Element kW, bool kWeighted, bool kDx, bool kDw, bool kStream>
void backward_chunk(const BackwardPlan& plan, std::int64_t chunk) {
  if (plan.hidden <= kNarrowWidth) {
    narrow_chunk<kX, kW, kWeighted, kDx, kDw, kStream>(plan, chunk);
    return;
  }
  using X = Storage<kX>;
  using W = Storage<kW>;
  alignas(64) X dy_tile[kMaxBackwardGroup][kTile];
  alignas(64) X x_tile[kMaxBackwardGroup][kTile];
  alignas(64) X dx_tile[kMaxBackwardGroup][kTile];
  alignas(64) W weight_tile[kTile];
  alignas(64) float r[kMaxVector], c[kMaxVector];
  simd::LaneSums<kMaxBackwardGroup> all_squares, all_products;
  const simd::F32 f32;
  const Vec offset = hn::Set(f32, plan.offset);
  const auto* weight = static_cast<const W*>(plan.weight.data);
  const std::int64_t weight_stride = plan.weight.layout.inner;
  const std::int64_t dy_stride = plan.dy.layout.inner, x_stride = plan.x.layout.inner;
  const std::int64_t dx_stride = plan.dx.layout.inner;
  float* value = kDw ? plan.partials + chunk * 2 * plan.width : nullptr;
  float* error = kDw ? value + plan.width : nullptr;
  if constexpr (kDw) std::fill_n(value, 2 * plan.width, 0.0F);

  const std::int64_t end = std::min(plan.rows, (chunk + 1) * plan.chunk_rows);
  for (std::int64_t first = chunk * plan.chunk_rows; first < end; first += plan.group) {
    GroupTile<kX> tile;
    tile.rows = std::min<std::int64_t>(plan.group, end - first);
    for (std::int64_t g = 0; g < tile.rows; ++g) {
      const X* dy = plan.dy.row<X>(first + g);
      const X* x = plan.x.row<X>(first + g);
      simd::ExactSum squares = {hn::Zero(f32), hn::Zero(f32)}, products = squares;
      for (std::int64_t start = 0; start < plan.hidden; start += kTile) {
        const std::int64_t count = std::min(kTile, plan.hidden - start);
        const X* x_part = adjacent(x, x_stride, start, count, x_tile[0]);
        if (plan.rstd == nullptr) {
          add_piece(simd::sum_of_squares<kX>(x_part, count), start, squares);
        }
        if constexpr (kDx) {
          const X* dy_part = adjacent(dy, dy_stride, start, count, dy_tile[0]);
          const W* w = weight_tile;
          if constexpr (kWeighted) w = adjacent(weight, weight_stride, start, count, weight_tile);
          add_piece(sum_of_products<kX, kW, kWeighted>(dy_part, x_part, w, offset, count), start,
                    products);
        }
      }
      if (plan.rstd == nullptr) all_squares.put(g, squares.total());
      if constexpr (kDx) all_products.put(g, products.total());
    }
    if (plan.rstd == nullptr) {
      all_squares.totals(tile.rows, r);
      reciprocal_root_mean(r, tile.rows, plan.hidden, plan.eps);
    } else {
      for (std::int64_t g = 0; g < tile.rows; ++g) r[g] = default_nan(plan.rstd[first + g]);
    }
    if constexpr (kDx) {
      all_products.totals(tile.rows, c);
      for (std::int64_t g = 0; g < tile.rows; ++g) {
        c[g] = c[g] * r[g] / static_cast<float>(plan.hidden);
      }
    }

    for (std::int64_t start = 0; start < plan.hidden; start += plan.tile) {
      const std::int64_t count = std::min(plan.tile, plan.hidden - start);
      const W* w = weight_tile;
      if constexpr (kWeighted && kDx) {
        w = adjacent(weight, weight_stride, start, count, weight_tile);
      }
      for (std::int64_t g = 0; g < tile.rows; ++g) {
        const X* dy = plan.dy.row<X>(first + g);
        const X* x = plan.x.row<X>(first + g);
        tile.dy[g] = adjacent(dy, dy_stride, start, count, dy_tile[g]);
        tile.x[g] = adjacent(x, x_stride, start, count, x_tile[g]);
        if constexpr (kDx) {
          tile.dx[g] = dx_stride == 1 ? plan.dx.row<X>(first + g) + start : dx_tile[g];
        }
        const std::int64_t next = std::min(first + g + plan.ahead, plan.rows - 1);
        tile.dy_ahead[g] = plan.dy.row<X>(next) + start;
        tile.x_ahead[g] = plan.x.row<X>(next) + start;
      }
      float* tile_value = kDw ? value + start : nullptr;
      float* tile_error = kDw ? error + start : nullptr;
      std::int64_t i = 0;
      constexpr std::int64_t kStep = kBlocksPerStep<kX> * kBlock;
      for (; i + kStep <= count; i += kStep) {
        backward_step<kX, kW, kWeighted, kDx, kDw, kStream>(tile, w, offset, r, c, i, tile_value,
                                                            tile_error);
      }
      for (; i < count; i += kBlock) {
        const auto rest = std::min<std::int64_t>(count - i, kBlock);
        backward_first<kX, kW, kWeighted, kDx, kDw>(tile, w, offset, r, c, i, rest, tile_value,
                                                    tile_error);
      }
      if constexpr (kDx) {
        if (dx_stride == 1) continue;
        for (std::int64_t g = 0; g < tile.rows; ++g) {
          X* dx = plan.dx.row<X>(first + g) + start * dx_stride;
          scatter(dx_tile[g], count, dx, dx_stride);
        }
      }
    }
  }
  if constexpr (kStream) simd::stream_fence();
}

// dweight of columns [begin, end), begin a multiple of kTile, from the partial sums of all chunks.
template <Element kX, Element kW>
void reduce_columns(const BackwardPlan& plan, std::int64_t begin, std::int64_t end) {
  using W = Storage<kW>;
  const simd::F32 f32;
  const std::int64_t stride = plan.dweight.layout.inner;
  for (std::int64_t column = begin; column < end; column += kBlock) {
    const std::size_t count = std::min<std::int64_t>(kBlock, end - column);
    simd::ExactSum a = {hn::Zero(f32), hn::Zero(f32)}, b = a;
    for (std::int64_t chunk = 0; chunk < plan.chunks; ++chunk) {
      const float* value = plan.partials + chunk * 2 * plan.width + column;
      const float* error = value + plan.width;
      a.add(hn::LoadU(f32, value));
      b.add(hn::LoadU(f32, value + simd::kLanes));
      a.add(hn::LoadU(f32, error));
      b.add(hn::LoadU(f32, error + simd::kLanes));
    }
    const Block sum = {a.total(), b.total()};
    if (stride == 1) {
      simd::store_first<kW, kX>(sum, static_cast<W*>(plan.dweight.data) + column, count);
    } else {
      HWY_ALIGN W whole[kBlock];
      simd::store<kW, kX>(sum, whole);
      scatter(whole, static_cast<std::int64_t>(count),
              static_cast<W*>(plan.dweight.data) + column * stride, stride);
    }
  }
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

template <Element kX, Element kW>
BackwardRows select_backward(bool weighted, bool dx, bool dw, bool stream) {
  if (!weighted) {
    return stream ? backward_chunk<kX, kX, false, true, false, true>
                  : backward_chunk<kX, kX, false, true, false, false>;
  }
  if (!dx) return backward_chunk<kX, kX, true, false, true, false>;
  if (!dw) {
    return stream ? backward_chunk<kX, kW, true, true, false, true>
                  : backward_chunk<kX, kW, true, true, false, false>;
  }
  return stream ? backward_chunk<kX, kW, true, true, true, true>
                : backward_chunk<kX, kW, true, true, true, false>;
}

// kX, kW as values: weight is of x's format or f32.
struct Selection {
  Element x, weight;

  template <typename Use>
  auto visit(const Use& use) const {
    constexpr Element kF32 = Element::kF32, kF16 = Element::kF16, kBF16 = Element::kBF16;
    const bool same = weight == x;
    if (x == kBF16)
      return same ? use.template run<kBF16, kBF16>() : use.template run<kBF16, kF32>();
    if (x == kF16) return same ? use.template run<kF16, kF16>() : use.template run<kF16, kF32>();
    return use.template run<kF32, kF32>();
  }
};

struct UseForward {
  Variant variant;
  bool stream;
  template <Element kX, Element kW>
  ForwardRows run() const {
    return stream ? select_forward<kX, kW, true>(variant) : select_forward<kX, kW, false>(variant);
  }
};

struct UseBackward {
  bool weighted, dx, dw, stream;
  template <Element kX, Element kW>
  BackwardRows run() const {
    return select_backward<kX, kW>(weighted, dx, dw, stream);
  }
};

struct UseReduce {
  template <Element kX, Element kW>
  ReduceColumns run() const {
    return reduce_columns<kX, kW>;
  }
};

inline ForwardRows forward_kernel(Element x, Element weight, Variant variant, bool stream) {
  return Selection{x, weight}.visit(UseForward{variant, stream});
}
inline BackwardRows backward_kernel(Element x, Element weight, bool weighted, bool dx, bool dw,
                                    bool stream) {
  return Selection{x, weight}.visit(UseBackward{weighted, dx, dw, stream});
}
inline ReduceColumns reduce_kernel(Element x, Element weight) {
  return Selection{x, weight}.visit(UseReduce{});
}

}  // namespace kw::ops::rms_norm::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard
