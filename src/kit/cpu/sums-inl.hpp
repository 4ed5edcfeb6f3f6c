// SPDX-License-Identifier: Apache-2.0
// Sums whose order of additions depends on the length only, and sums of many terms that do not lose
// bits. Compiled once per Highway target. Knows no tensor and no operator.
#if defined(KW_KIT_CPU_SUMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef KW_KIT_CPU_SUMS_INL
#undef KW_KIT_CPU_SUMS_INL
#else
#define KW_KIT_CPU_SUMS_INL
#endif

#include <cstddef>
#include <cstring>

#include "kernelwright/kit/cpu/blocks-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace kw::kit::cpu::HWY_NAMESPACE {

// Elements a step of a sum over adjacent elements: four accumulators, for the conversions between
// two additions to one cover the latency of an FMA. Eight cost a row of 128 bf16 4 % more.
inline constexpr std::size_t kSumStep = 2 * kBlock;

HWY_INLINE Block zero_block() { return {hn::Zero(F32()), hn::Zero(F32())}; }

HWY_INLINE Block multiply(Block x, Block y) { return {hn::Mul(x.a, y.a), hn::Mul(x.b, y.b)}; }
HWY_INLINE Block multiply(Block x, Vec y) { return {hn::Mul(x.a, y), hn::Mul(x.b, y)}; }
HWY_INLINE Block add(Block x, Vec y) { return {hn::Add(x.a, y), hn::Add(x.b, y)}; }
HWY_INLINE Block multiply_add(Block x, Block y, Block z) {
  return {hn::MulAdd(x.a, y.a, z.a), hn::MulAdd(x.b, y.b, z.b)};
}

// Accumulators of one piece of a row. Steps are written out where this is used: at -O2 g++ would
// leave the accumulators of a loop in memory.
struct PieceSum {
  Block part0, part1;

  // Written out: the target of this section does not reach functions that the compiler declares.
  HWY_INLINE PieceSum() : part0(zero_block()), part1(zero_block()) {}

  HWY_INLINE Vec total() const {
    return hn::Add(hn::Add(part0.a, part0.b), hn::Add(part1.a, part1.b));
  }
};

template <Element kElement>
HWY_INLINE void add_square(const Storage<kElement>* x, Block& sum) {
  const Block block = load<kElement>(x);
  sum = multiply_add(block, block, sum);
}

// sum += the squares of adjacent elements [i, count), i a multiple of kSumStep.
template <Element kElement>
HWY_INLINE void add_squares(const Storage<kElement>* x, std::size_t i, std::size_t count,
                            PieceSum& sum) {
  for (; i + kSumStep <= count; i += kSumStep) {
    add_square<kElement>(x + i, sum.part0);
    add_square<kElement>(x + i + kBlock, sum.part1);
  }
  if (i + kBlock <= count) {
    add_square<kElement>(x + i, sum.part0);
    i += kBlock;
  }
  if (i < count) {
    const Block block = load_first<kElement>(x + i, count - i);
    sum.part1 = multiply_add(block, block, sum.part1);
  }
}

// The sum of squares of `count` adjacent elements, spread over the lanes. A piece of a long row:
// its chains of f32 additions should stay short (1024 elements: 32 additions on AVX2).
template <Element kElement>
HWY_INLINE Vec sum_of_squares(const Storage<kElement>* x, std::size_t count) {
  PieceSum sum;
  add_squares<kElement>(x, 0, count, sum);
  return sum.total();
}

// A running sum as value + error, error below half an ulp of value: nearly twice the bits of f32,
// so that the result is the rounded exact sum for any practical number of terms. An infinite sum
// keeps no error (it would be NaN), so infinities come out as infinities.
struct ExactSum {
  Vec value, error;

  HWY_INLINE void add(Vec term) {
    const Vec total = hn::Add(value, term);
    const Vec from_term = hn::Sub(total, value);
    const Vec lost = hn::Add(hn::Sub(value, hn::Sub(total, from_term)), hn::Sub(term, from_term));
    const auto finite = hn::Eq(hn::Sub(total, total), hn::Zero(F32()));
    const Vec rest = hn::IfThenElseZero(finite, hn::Add(error, lost));
    value = hn::Add(total, rest);
    error = hn::IfThenElseZero(finite, hn::Sub(rest, hn::Sub(value, total)));
  }
  HWY_INLINE Vec total() const { return hn::Add(value, error); }
};

// Sums the lanes of many vectors at once: put() one vector a row, then totals() of all. Row by row
// the shuffles of a sum wait for one another: rows of 128 bf16 took 12 ns of 61 for them.
template <std::size_t kRows>
class LaneSums {
 public:
  HWY_INLINE LaneSums() { std::memset(lanes_, 0, sizeof lanes_); }  // written out, as above

  HWY_INLINE void put(std::size_t row, Vec lanes) {
    hn::Store(lanes, F32(), lanes_ + row * kLanes);
  }
  // to[i] = the sum of the lanes of row i for `count` rows, rounded up to four; each by the same
  // tree wherever it stands.
  HWY_INLINE void totals(std::size_t count, float* to) const {
    const F32 f32;
    const hn::CappedTag<float, 4> quarter;
    for (std::size_t i = 0; i < count; i += 4) {
      const float* from = lanes_ + i * kLanes;
      const Vec a = hn::Load(f32, from), b = hn::Load(f32, from + kLanes);
      const Vec c = hn::Load(f32, from + 2 * kLanes), d = hn::Load(f32, from + 3 * kLanes);
      const Vec ab = hn::Add(hn::InterleaveLower(a, b), hn::InterleaveUpper(f32, a, b));
      const Vec cd = hn::Add(hn::InterleaveLower(c, d), hn::InterleaveUpper(f32, c, d));
      const auto lower =
          hn::BitCast(f32, hn::InterleaveLower(hn::BitCast(U64(), ab), hn::BitCast(U64(), cd)));
      const auto upper = hn::BitCast(
          f32, hn::InterleaveUpper(U64(), hn::BitCast(U64(), ab), hn::BitCast(U64(), cd)));
      HWY_ALIGN float blocks[kLanes];
      hn::Store(hn::Add(lower, upper), f32, blocks);
      auto sum = hn::Load(quarter, blocks);
      for (std::size_t k = 4; k < kLanes; k += 4) sum = hn::Add(sum, hn::Load(quarter, blocks + k));
      hn::Store(sum, quarter, to + i);
    }
  }

 private:
  static_assert(kRows % 4 == 0);
  HWY_ALIGN float lanes_[kRows * kLanes];
};

}  // namespace kw::kit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard
