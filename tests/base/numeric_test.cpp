// SPDX-License-Identifier: Apache-2.0
// Conversions against an oracle that enumerates: every 16-bit pattern, both neighbours of every
// midpoint, and doubles that a detour over float would round twice.
#include "kernelwright/base/numeric.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace kw {
namespace {

struct Bf16 {
  using Type = bf16;
  static constexpr std::uint16_t kInf = 0x7f80;
  static constexpr int kMantissa = 7, kMinExponent = -126;
};
struct F16 {
  using Type = f16;
  static constexpr std::uint16_t kInf = 0x7c00;
  static constexpr int kMantissa = 10, kMinExponent = -14;
};

template <typename Format>
double value_of(std::uint16_t bits) {
  const int sign = bits >> 15, exponent = (bits & 0x7fff) >> Format::kMantissa;
  const int mantissa = bits & ((1 << Format::kMantissa) - 1);
  const double one = 1 << Format::kMantissa;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa / one, Format::kMinExponent)
                    : std::ldexp(1 + mantissa / one, exponent - 1 + Format::kMinExponent);
  return sign != 0 ? -magnitude : magnitude;
}

template <typename Format>
class NumericTest : public testing::Test {
 protected:
  static std::uint16_t from(double value) { return from_f64<typename Format::Type>(value).bits; }
  static std::uint16_t from(float value) {
    if constexpr (std::is_same_v<typename Format::Type, bf16>)
      return to_bf16(value).bits;
    else
      return to_f16(value).bits;
  }
  static float widen(std::uint16_t bits) { return to_f32(typename Format::Type{bits}); }
};

using Formats = testing::Types<Bf16, F16>;
TYPED_TEST_SUITE(NumericTest, Formats);

TYPED_TEST(NumericTest, EveryFiniteValueIsExactAndComesBack) {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    if ((bits & 0x7fff) >= TypeParam::kInf) continue;
    ASSERT_EQ(this->widen(bits), value_of<TypeParam>(bits)) << i;
    ASSERT_EQ(std::signbit(this->widen(bits)), (bits & 0x8000) != 0) << i;
    ASSERT_EQ(this->from(this->widen(bits)), bits) << i;
    ASSERT_EQ(this->from(value_of<TypeParam>(bits)), bits) << i;
  }
}

TYPED_TEST(NumericTest, InfinitiesAndNansStayWhatTheyAre) {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    if ((bits & 0x7fff) < TypeParam::kInf) continue;
    const float wide = this->widen(bits);
    const bool is_inf = (bits & 0x7fff) == TypeParam::kInf;
    ASSERT_EQ(std::isinf(wide), is_inf);
    ASSERT_EQ(std::isnan(wide), !is_inf);
    ASSERT_EQ(std::signbit(wide), (bits & 0x8000) != 0);
    // Quiet, same sign and payload.
    const auto quiet =
        static_cast<std::uint16_t>(is_inf ? bits : bits | (1U << (TypeParam::kMantissa - 1)));
    ASSERT_EQ(this->from(wide), quiet) << i;
  }
}

// Around every boundary between two neighbours: exactly the midpoint goes to the even one, and the
// closest double or float on either side goes to its own side.
TYPED_TEST(NumericTest, EveryMidpointRoundsToEvenAndOnlyIt) {
  for (std::uint32_t i = 0; i < TypeParam::kInf; ++i) {
    const auto low = static_cast<std::uint16_t>(i), high = static_cast<std::uint16_t>(i + 1);
    const double below = value_of<TypeParam>(low);
    const double above = i + 1 < TypeParam::kInf
                             ? value_of<TypeParam>(high)
                             : 2 * below - value_of<TypeParam>(static_cast<std::uint16_t>(i - 1));
    const double middle = (below + above) / 2;
    const auto even = static_cast<std::uint16_t>((low & 1) == 0 ? low : high);
    ASSERT_EQ(this->from(middle), even) << i;
    ASSERT_EQ(this->from(std::nextafter(middle, 0.0)), low) << i;
    ASSERT_EQ(this->from(std::nextafter(middle, INFINITY)), high) << i;
    ASSERT_EQ(this->from(-middle), even | 0x8000) << i;
    ASSERT_EQ(this->from(std::nextafter(-middle, 0.0)), low | 0x8000) << i;
    ASSERT_EQ(this->from(std::nextafter(-middle, -INFINITY)), high | 0x8000) << i;
    const auto narrow = static_cast<float>(middle);
    if (narrow != middle) continue;  // below the floats
    ASSERT_EQ(this->from(narrow), even) << i;
    ASSERT_EQ(this->from(std::nextafterf(narrow, 0.0F)), low) << i;
    ASSERT_EQ(this->from(std::nextafterf(narrow, INFINITY)), high) << i;
    ASSERT_EQ(this->from(-narrow), even | 0x8000) << i;
  }
}

TYPED_TEST(NumericTest, DoublesRoundOnce) {
  // 1 + half a unit + something that float loses: over float this becomes the tie and goes down.
  const double half_unit = std::ldexp(1.0, -TypeParam::kMantissa - 1);
  const double value = 1 + half_unit + std::ldexp(1.0, -40);
  const std::uint16_t one = this->from(1.0);
  EXPECT_EQ(this->from(value), one + 1);
  EXPECT_EQ(this->from(static_cast<float>(value)), one) << "a detour over float rounds twice";
  EXPECT_EQ(this->from(1 + half_unit - std::ldexp(1.0, -40)), one);
}

TYPED_TEST(NumericTest, ExtremeDoublesSaturateOrVanish) {
  using Limits = std::numeric_limits<double>;
  EXPECT_EQ(this->from(Limits::max()), TypeParam::kInf);
  EXPECT_EQ(this->from(-Limits::max()), TypeParam::kInf | 0x8000);
  EXPECT_EQ(this->from(Limits::infinity()), TypeParam::kInf);
  EXPECT_EQ(this->from(Limits::denorm_min()), 0);
  EXPECT_EQ(this->from(-Limits::denorm_min()), 0x8000);
  EXPECT_EQ(this->from(-0.0), 0x8000);
  EXPECT_GT(this->from(Limits::quiet_NaN()), TypeParam::kInf);
}

TYPED_TEST(NumericTest, RandomDoublesGoToTheNearest) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const int exponent = static_cast<int>(random() % 320) - 160;
    const double value = std::ldexp(1 + static_cast<double>(random() >> 11) * 0x1p-53, exponent);
    const std::uint16_t bits = this->from(value);
    if (bits == TypeParam::kInf) {
      ASSERT_GE(value, value_of<TypeParam>(TypeParam::kInf - 1));
      continue;
    }
    const double error = std::abs(value_of<TypeParam>(bits) - value);
    const double up = bits + 1 < TypeParam::kInf
                          ? value_of<TypeParam>(static_cast<std::uint16_t>(bits + 1))
                          : INFINITY;
    ASSERT_LE(error, up - value) << value;
    if (bits > 0) {
      ASSERT_LE(error, value - value_of<TypeParam>(static_cast<std::uint16_t>(bits - 1))) << value;
    }
  }
}

TEST(RoundToOdd, KeepsTheStickyBit) {
  EXPECT_EQ(round_to_odd_f32(1.5), 1.5F);
  const float odd = round_to_odd_f32(1 + 0x1p-40);
  EXPECT_EQ(odd, 1 + 0x1p-23F);
  EXPECT_EQ(round_to_odd_f32(-1 - 0x1p-40), -odd);
  EXPECT_EQ(round_to_odd_f32(1e-60), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(round_to_odd_f32(-1e-60), -std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(round_to_odd_f32(1e60), std::numeric_limits<float>::max())
      << "finite stays finite until the last rounding";
}

TEST(Numeric, IsConstexpr) {
  static_assert(to_f32(to_bf16(1.0F)) == 1.0F);
  static_assert(to_f32(to_f16(0x1p-24F)) == 0x1p-24F);
  static_assert(from_f64<f16>(65519.99).bits == 0x7bff);
  static_assert(from_f64<f16>(65520.0).bits == 0x7c00);
  static_assert(to_f64(from_f64<bf16>(-2.0)) == -2.0);
}

}  // namespace
}  // namespace kw
