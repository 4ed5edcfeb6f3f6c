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
