// SPDX-License-Identifier: Apache-2.0
// Row kernels of rms_norm_backward. Compiled once per Highway target.
#if defined(KW_OPS_RMS_NORM_NATIVE_BACKWARD_BODY) == defined(HWY_TARGET_TOGGLE)
#ifdef KW_OPS_RMS_NORM_NATIVE_BACKWARD_BODY
#undef KW_OPS_RMS_NORM_NATIVE_BACKWARD_BODY
#else
#define KW_OPS_RMS_NORM_NATIVE_BACKWARD_BODY
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernelwright/ops/rms_norm/native_row_body.hpp"

HWY_BEFORE_NAMESPACE();
namespace kw::ops::rms_norm::native::HWY_NAMESPACE {

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
    add_product<kX, kW, kWeighted>(dy + i, x + i, weight + i, offset, sum.part0);
    add_product<kX, kW, kWeighted>(dy + i + kBlock, x + i + kBlock, weight + i + kBlock, offset,
                                   sum.part1);
  }
  if (i + kBlock <= count) {
    add_product<kX, kW, kWeighted>(dy + i, x + i, weight + i, offset, sum.part0);
    i += kBlock;
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

// value, error += sums, which become zero, for `count` columns rounded up to a block.
HWY_INLINE void empty_into_partial(float* sums, std::size_t count, float* value, float* error) {
  for (std::size_t i = 0; i < count; i += kBlock) {
    add_to_partial(simd::load<Element::kF32>(sums + i), value + i, error + i);
    simd::store<Element::kF32>(simd::zero_block(), sums + i);
  }
}

// Adjacent elements of two rows: what the second pass over a row and the first one over the next
// row read, and where the second one writes.
template <Element kX, Element kW>
struct BackwardPiece {
  const Storage<kX>*dy, *x, *next_dy, *next_x;
  const Storage<kW>* weight;
  Storage<kX>* dx;
  float* sums;  // terms of dweight, whole blocks
};

// dx and the terms of dweight of `count` elements, and meanwhile the sum of dy (offset + weight) x
// of the next row in the order of sum_of_products.
template <Element kX, Element kW, bool kWeighted, bool kDx, bool kDw, bool kStream>
HWY_INLINE Vec backward_piece(const BackwardPiece<kX, kW>& piece, std::size_t count, Vec offset,
                              Vec scale, Vec mean) {
  const BackwardPiece<kX, kW> at = piece;
  simd::PieceSum products;
  const auto block = [&](std::size_t i, Block & part) HWY_ATTR __attribute__((always_inline)) {
    simd::prefetch<kX>(at.next_dy + i + kAhead<kX>);
    simd::prefetch<kX>(at.next_x + i + kAhead<kX>);
    Block w = simd::zero_block(), sum = w;
    if constexpr (kWeighted && kDx) w = simd::add(simd::load<kW, kX>(at.weight + i), offset);
    if constexpr (kDw) sum = simd::load<Element::kF32>(at.sums + i);
    const Block dx = backward_row<kWeighted, kDx, kDw>(
        simd::load<kX>(at.dy + i), simd::load<kX>(at.x + i), w, scale, mean, sum);
    if constexpr (kDx) {
      Block m = simd::load<kX>(at.next_dy + i);
      if constexpr (kWeighted) m = simd::multiply(m, w);
      part = simd::multiply_add(m, simd::load<kX>(at.next_x + i), part);
    }
    if constexpr (kDw) simd::store<Element::kF32>(sum, at.sums + i);
    if constexpr (kDx) simd::store<kX, kX, kStream, kNans<kX, kW>>(dx, at.dx + i);
  };
  std::size_t i = 0;
  for (; i + simd::kSumStep <= count; i += simd::kSumStep) {
    block(i, products.part0);
    block(i + kBlock, products.part1);
  }
  if (i + kBlock <= count) {
    block(i, products.part0);
    i += kBlock;
  }
  if (i < count) {
    const std::size_t rest = count - i;
    Block w = simd::zero_block(), sum = w;
    if constexpr (kWeighted && kDx) {
      w = simd::add(simd::load_first<kW, kX>(at.weight + i, rest), offset);
    }
    if constexpr (kDw) sum = simd::load<Element::kF32>(at.sums + i);
    const Block dx = backward_row<kWeighted, kDx, kDw>(simd::load_first<kX>(at.dy + i, rest),
                                                       simd::load_first<kX>(at.x + i, rest), w,
                                                       scale, mean, sum);
    if constexpr (kDx) {
      Block m = simd::load_first<kX>(at.next_dy + i, rest);
      if constexpr (kWeighted) m = simd::multiply(m, w);
      products.part1 =
          simd::multiply_add(m, simd::load_first<kX>(at.next_x + i, rest), products.part1);
      simd::store_first<kX>(dx, at.dx + i, rest);
    }
    if constexpr (kDw) simd::store<Element::kF32>(sum, at.sums + i);
  }
  return products.total();
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
  float* value = kDw ? plan.chunk_partials(chunk) : nullptr;
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
    if (kDw && ((first - begin) % kSumRows == kSumRows - kNarrowGroup || first + rows == end)) {
      empty_into_partial(scratch.sums, padded, value, error);
    }
    if constexpr (kDx) {
      scratch.products.totals(rows, c);
      for (std::int64_t g = 0; g < rows; ++g) {
        const float mean = c[g] * r[g] / static_cast<float>(plan.hidden);
        const std::int64_t next = std::min(first + g + kNarrowGroup, plan.rows - 1);
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

// Rows of a chunk one after the other: the second pass over a row takes the first one over the next
// along, so that memory has the same work all the time.
template <Element kX, Element kW, bool kWeighted, bool kDx, bool kDw, bool kStream>
void wide_chunk(const BackwardPlan& plan, std::int64_t chunk) {
  using X = Storage<kX>;
  using W = Storage<kW>;
  alignas(64) X dy_tile[2][kTile];
  alignas(64) X x_tile[2][kTile];
  alignas(64) X dx_tile[kTile];
  alignas(64) W weight_tile[kTile];
  alignas(64) float r[kMaxVector], c[kMaxVector];
  simd::LaneSums<4> lanes;
  const simd::F32 f32;
  const Vec offset = hn::Set(f32, plan.offset), zero = hn::Zero(f32);
  const auto* weight = static_cast<const W*>(plan.weight.data);
  const std::int64_t weight_stride = plan.weight.layout.inner;
  const std::int64_t dy_stride = plan.dy.layout.inner, x_stride = plan.x.layout.inner;
  const std::int64_t dx_stride = plan.dx.layout.inner;
  const bool recompute = plan.rstd == nullptr;
  float* value = kDw ? plan.chunk_partials(chunk) : nullptr;
  float* error = kDw ? value + plan.width : nullptr;
  float* sums = kDw ? error + plan.width : nullptr;
  if constexpr (kDw) std::fill_n(value, 3 * plan.width, 0.0F);

  simd::ExactSum squares = {zero, zero}, products = squares;  // of the first pass
  const auto finish_first_pass = [&](std::int64_t row) HWY_ATTR {
    if (recompute) {
      lanes.put(0, squares.total());
      lanes.totals(1, r);
      reciprocal_root_mean(r, 1, plan.hidden, plan.eps);
    } else {
      r[0] = default_nan(plan.rstd[row]);
    }
    if constexpr (kDx) {
      lanes.put(0, products.total());
      lanes.totals(1, c);
      c[0] = c[0] * r[0] / static_cast<float>(plan.hidden);
    }
    squares = products = {zero, zero};
  };
  const auto weight_part = [&](std::int64_t start, std::int64_t count) HWY_ATTR {
    return kWeighted && kDx ? adjacent(weight, weight_stride, start, count, weight_tile) : nullptr;
  };

  const std::int64_t begin = chunk * plan.chunk_rows;
  const std::int64_t end = std::min(plan.rows, begin + plan.chunk_rows);
  for (std::int64_t start = 0; start < plan.hidden; start += kTile) {
    const std::int64_t count = std::min(kTile, plan.hidden - start);
    const X* x = adjacent(plan.x.row<X>(begin), x_stride, start, count, x_tile[0]);
    if (recompute) add_piece(simd::sum_of_squares<kX>(x, count), start, squares);
    if constexpr (kDx) {
      const X* dy = adjacent(plan.dy.row<X>(begin), dy_stride, start, count, dy_tile[0]);
      const W* w = weight_part(start, count);
      add_piece(sum_of_products<kX, kW, kWeighted>(dy, x, w, offset, count), start, products);
    }
  }
  finish_first_pass(begin);

  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t next = std::min(row + 1, end - 1);
    const X *dy = plan.dy.row<X>(row), *x = plan.x.row<X>(row);
    const X *next_dy = plan.dy.row<X>(next), *next_x = plan.x.row<X>(next);
    X* dx = kDx ? plan.dx.row<X>(row) : nullptr;
    const Vec scale = hn::Set(f32, r[0]), mean = kDx ? hn::Set(f32, c[0]) : zero;
    for (std::int64_t start = 0; start < plan.hidden; start += kTile) {
      const std::int64_t count = std::min(kTile, plan.hidden - start);
      BackwardPiece<kX, kW> piece;
      piece.dy = adjacent(dy, dy_stride, start, count, dy_tile[0]);
      piece.x = adjacent(x, x_stride, start, count, x_tile[0]);
      piece.next_dy = adjacent(next_dy, dy_stride, start, count, dy_tile[1]);
      piece.next_x = adjacent(next_x, x_stride, start, count, x_tile[1]);
      piece.weight = weight_part(start, count);
      piece.dx = kDx && dx_stride == 1 ? dx + start : dx_tile;
      piece.sums = kDw ? sums + start : nullptr;
      const Vec part =
          backward_piece<kX, kW, kWeighted, kDx, kDw, kStream>(piece, count, offset, scale, mean);
      if constexpr (kDx) add_piece(part, start, products);
      if (recompute) add_piece(simd::sum_of_squares<kX>(piece.next_x, count), start, squares);
      // Pieces take turns, for memory rests meanwhile.
      const bool full = (row - begin + start / kTile) % kSumRows == kSumRows - 1;
      if (kDw && (full || row + 1 == end)) {
        empty_into_partial(sums + start, count, value + start, error + start);
      }
      if (kDx && dx_stride != 1) scatter(dx_tile, count, dx + start * dx_stride, dx_stride);
    }
    finish_first_pass(next);
  }
  if constexpr (kStream) simd::stream_fence();
}

template <Element kX, Element kW, bool kWeighted, bool kDx, bool kDw, bool kStream>
void backward_chunk(const BackwardPlan& plan, std::int64_t chunk) {
  if (plan.hidden <= kNarrowWidth) {
    narrow_chunk<kX, kW, kWeighted, kDx, kDw, kStream>(plan, chunk);
  } else {
    wide_chunk<kX, kW, kWeighted, kDx, kDw, kStream>(plan, chunk);
  }
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
      const float* value = plan.chunk_partials(chunk) + column;
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

}  // namespace kw::ops::rms_norm::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard
