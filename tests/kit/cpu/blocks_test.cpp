// SPDX-License-Identifier: Apache-2.0
// Block loads, stores, rounding and sums on every compiled target against scalar code.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "kernelwright/base/numeric.hpp"
#include "kernelwright/kit/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../tests/kit/cpu/blocks_test.cpp"  // relative to include/
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "kernelwright/kit/cpu/blocks-inl.hpp"
#include "kernelwright/kit/cpu/sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace kw::kit::cpu::HWY_NAMESPACE {

template <Element kElement>
std::uint32_t round_one(float value, bool narrow) {
  const Vec v = hn::Set(F32(), value);
  const Vec rounded = narrow ? round_to<kElement, Nans::kNarrow>(v) : round_to<kElement>(v);
  return std::bit_cast<std::uint32_t>(hn::GetLane(rounded));
}

// Copies `count` elements through load_first and store_first, and whole blocks through load, store.
template <Element kElement, Element kOrder>
void copy(const Storage<kElement>* from, Storage<kElement>* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    store<kElement, kOrder>(load<kElement, kOrder>(from + i), to + i);
  }
  store_first<kElement, kOrder>(load_first<kElement, kOrder>(from + i, count - i), to + i,
                                count - i);
}

// Whole blocks of f32 rounded to bf16, in the order of memory.
void store_rounded(const float* from, std::uint16_t* to, std::size_t count, bool narrow) {
  for (std::size_t i = 0; i + kBlock <= count; i += kBlock) {
    const Block block = load<Element::kF32, Element::kBF16>(from + i);
    if (narrow) {
      store<Element::kBF16, Element::kBF16, false, Nans::kNarrow>(block, to + i);
    } else {
      store<Element::kBF16, Element::kBF16, false>(block, to + i);
    }
  }
}

template <Element kElement>
float squares(const Storage<kElement>* x, std::size_t count) {
  LaneSums<4> sums;
  sums.put(2, sum_of_squares<kElement>(x, count));
  float totals[4];
  sums.totals(3, totals);
  return totals[2];
}

float exact_sum(const float* terms, std::size_t count) {
  ExactSum sum = {hn::Zero(F32()), hn::Zero(F32())};
  for (std::size_t i = 0; i < count; ++i) sum.add(hn::Set(F32(), terms[i]));
  return hn::GetLane(sum.total());
}

struct Kernels {
  std::uint32_t (*round_bf16)(float, bool) = round_one<Element::kBF16>;
  std::uint32_t (*round_f16)(float, bool) = round_one<Element::kF16>;
  void (*copy_f32)(const float*, float*, std::size_t) = copy<Element::kF32, Element::kF32>;
  void (*copy_f32_even_odd)(const float*, float*,
                            std::size_t) = copy<Element::kF32, Element::kBF16>;
  void (*copy_bf16)(const std::uint16_t*, std::uint16_t*,
                    std::size_t) = copy<Element::kBF16, Element::kBF16>;
  void (*copy_f16)(const std::uint16_t*, std::uint16_t*,
                   std::size_t) = copy<Element::kF16, Element::kF16>;
  void (*store_bf16)(const float*, std::uint16_t*, std::size_t, bool) = store_rounded;
  float (*squares_f32)(const float*, std::size_t) = squares<Element::kF32>;
  float (*exact)(const float*, std::size_t) = exact_sum;
};

Kernels kernels() {
  Kernels result;
  return result;
}

}  // namespace kw::kit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kw::kit::cpu {
namespace {

// Runs `check(kernels)` on each target this machine has; fails if it has none.
template <typename Check>
void each_target(const Check& check) {
  ASSERT_TRUE(isa_supported(Isa::kAvx2)) << "the library needs AVX2";
  {
    SCOPED_TRACE("AVX2");
    check(N_AVX2::kernels());
  }
  if (isa_supported(Isa::kAvx512)) {
    SCOPED_TRACE("AVX-512");
    check(N_AVX3::kernels());
  }
}

bool same_or_nan(std::uint32_t got, float expected) {
  const float value = std::bit_cast<float>(got);
  if (std::isnan(expected)) return std::isnan(value);
  return got == std::bit_cast<std::uint32_t>(expected);
}

TEST(Blocks, RoundingIsNearestEvenIncludingSubnormalsAndNans) {
  each_target([](const auto& kernels) {
    for (std::uint32_t high = 0; high < 0x10000; high += 7) {
      for (const std::uint32_t low :
           {0x0000U, 0x0001U, 0x1000U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
        auto bits = high << 16 | low;
        if (std::isnan(std::bit_cast<float>(bits))) bits |= 0x400000;  // results of arithmetic
        const auto value = std::bit_cast<float>(bits);
        ASSERT_TRUE(same_or_nan(kernels.round_bf16(value, false), to_f32(to_bf16(value)))) << bits;
        ASSERT_TRUE(same_or_nan(kernels.round_f16(value, false), to_f32(to_f16(value)))) << bits;
        if (!std::isnan(value) || low == 0) {
          ASSERT_TRUE(same_or_nan(kernels.round_bf16(value, true), to_f32(to_bf16(value)))) << bits;
        }
      }
    }
  });
}

// Stores pack two vectors at once: each value goes through an even and an odd lane.
TEST(Blocks, StoredBf16IsRoundedInEvenAndInOddLanes) {
  std::vector<float> values;
  for (std::uint32_t high = 0; high < 0x10000; high += 7) {
    for (const std::uint32_t low :
         {0x0000U, 0x0001U, 0x1000U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      auto bits = high << 16 | low;
      if (std::isnan(std::bit_cast<float>(bits))) bits |= 0x400000;  // results of arithmetic
      values.push_back(std::bit_cast<float>(bits));
    }
  }
  values.resize(values.size() / 64 * 64);  // whole blocks of any target
  each_target([&](const auto& kernels) {
    for (const bool narrow : {false, true}) {
      std::vector<float> from = values;
      if (narrow) {
        for (float& value : from) {
          if (std::isnan(value)) {
            value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffff0000U);
          }
        }
      }
      for (int turn = 0; turn < 2; ++turn) {
        std::vector<std::uint16_t> to(from.size());
        kernels.store_bf16(from.data(), to.data(), from.size(), narrow);
        for (std::size_t i = 0; i < from.size(); ++i) {
          const auto got = std::bit_cast<std::uint32_t>(to_f32(bf16{to[i]}));
          ASSERT_TRUE(same_or_nan(got, to_f32(to_bf16(from[i]))))
              << i << " narrow " << narrow << " of " << std::bit_cast<std::uint32_t>(from[i]);
        }
        std::rotate(from.begin(), from.begin() + 1, from.end());
      }
    }
  });
}

template <typename S, typename Copy>
void expect_exact_copies(const Copy& copy) {
  for (std::size_t count = 0; count < 200; ++count) {
    std::vector<S> from(count), to(count + 64, S{77});
    for (std::size_t i = 0; i < count; ++i) from[i] = static_cast<S>(100 + i);
    copy(from.data(), to.data(), count);  // an access past `from` is for the address sanitizer
    for (std::size_t i = 0; i < to.size(); ++i) ASSERT_EQ(to[i], i < count ? from[i] : S{77});
  }
}

TEST(Blocks, CopiesOfAnyLengthKeepOrderAndTouchNothingElse) {
  each_target([](const auto& kernels) {
    expect_exact_copies<float>(kernels.copy_f32);
    expect_exact_copies<float>(kernels.copy_f32_even_odd);
    expect_exact_copies<std::uint16_t>(kernels.copy_bf16);
    expect_exact_copies<std::uint16_t>(kernels.copy_f16);
  });
}

TEST(Sums, SquaresOfAnyLength) {
  each_target([](const auto& kernels) {
    std::vector<float> x;
    double exact = 0;
    for (int i = 0; i < 1100; ++i) {
      EXPECT_NEAR(kernels.squares_f32(x.data(), x.size()), exact, exact * 0x1p-22) << x.size();
      x.push_back(std::sin(static_cast<float>(i + 1)));
      exact += static_cast<double>(x.back()) * x.back();
    }
  });
}

TEST(Sums, ExactSumLosesNothingToLengthOrCancellation) {
  each_target([](const auto& kernels) {
    std::vector<float> terms(3000000, 0.1F);
    EXPECT_NEAR(kernels.exact(terms.data(), terms.size()), 3000000.0 * 0.1F, 0.25 * 0x1p-1);
    const float cancel[] = {1e8F, 1.0F, -1e8F, 0.25F};
    EXPECT_EQ(kernels.exact(cancel, 4), 1.25F);
    const float infinity = std::numeric_limits<float>::infinity();
    const float with_infinity[] = {1.0F, infinity, 2.0F, 3.0F};
    EXPECT_EQ(kernels.exact(with_infinity, 4), infinity);
    const float both[] = {infinity, -infinity, 1.0F};
    EXPECT_TRUE(std::isnan(kernels.exact(both, 3)));
  });
}

}  // namespace
}  // namespace kw::kit::cpu
#endif
