// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/base/text.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <cstring>
#include <random>

#include "kernelwright/base/dtype.hpp"
#include "kernelwright/base/error.hpp"

namespace kw {
namespace {

using Names = std::vector<std::string>;

TEST(Text, NearestNameIsALikelyTypoOnly) {
  const Names known{"rms_norm", "layer_norm", "rope"};
  EXPECT_EQ(nearest_name("rms_nrm", known), "rms_norm");
  EXPECT_EQ(nearest_name("rmsnorm", known), "rms_norm");
  EXPECT_EQ(nearest_name("ropes", known), "rope");
  EXPECT_EQ(nearest_name("attention", known), std::nullopt);
  EXPECT_EQ(nearest_name("x", {}), std::nullopt);
}

TEST(Text, UnknownNamesSayWhatExists) {
  EXPECT_EQ(unknown_name_message("operation", "ropee", {"rope", "norm"}),
            "unknown operation 'ropee'; did you mean 'rope'? known: rope, norm");
  EXPECT_EQ(unknown_name_message("operation", "zzzzzz", {"rope"}),
            "unknown operation 'zzzzzz'; known: rope");
  EXPECT_EQ(unknown_name_message("plugin", "a", {}), "unknown plugin 'a'; none is known");
}

TEST(Text, SplitJoinTrimUpper) {
  EXPECT_EQ(split("a,,b,", ','), (Names{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (Names{""}));
  EXPECT_EQ(join({"a", "b", "c"}, "-"), "a-b-c");
  EXPECT_EQ(join({}), "");
  EXPECT_EQ(join({"", ""}), ", ");
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(upper("rms_norm2"), "RMS_NORM2");
}

TEST(Text, NumbersAreTheShortestThatReadBack) {
  EXPECT_EQ(number_text(1e-6), "1e-06");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(3), "3");
  std::mt19937_64 random(3);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(parse_number(number_text(value)), value);
  }
}

TEST(Text, NumbersAreReadWholeOrNotAtAll) {
  for (const char* bad : {"", " 1", "1 ", "1x", "1,5", "--1", "0x10", "1e", "."})
    EXPECT_EQ(parse_number(bad), std::nullopt) << bad;
  for (const char* bad : {"", "1.0", "1e3", "9223372036854775808", " 1", "-"})
    EXPECT_EQ(parse_integer(bad), std::nullopt) << bad;
  EXPECT_EQ(parse_integer("-9223372036854775808"), std::numeric_limits<long long>::min());
}

TEST(Text, TheLocaleDoesNotMatter) {
  const char* german = std::setlocale(LC_NUMERIC, "de_DE.UTF-8");
  EXPECT_EQ(number_text(0.5), "0.5") << (german == nullptr ? "locale not installed" : german);
  EXPECT_EQ(parse_number("0.5"), 0.5);
  std::setlocale(LC_NUMERIC, "C");
}

TEST(DType, NamesAndSizesAreOneToOne) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(parse_dtype("float"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
  EXPECT_EQ(dtype_bytes(DType::kBF16), 2U);
  EXPECT_EQ(dtype_bytes(DType::kF8E4M3), 1U);
  EXPECT_EQ(accumulation_dtype(DType::kF8E5M2), DType::kF32);
  EXPECT_EQ(accumulation_dtype(DType::kF64), DType::kF64);
  EXPECT_EQ(accumulation_dtype(DType::kU8), DType::kI64);
  EXPECT_TRUE(is_float(DType::kF8E5M2));
  EXPECT_FALSE(is_float(DType::kI64));
}

TEST(Error, CarriesCodeAndText) {
  try {
    fail_text(Code::kConflict, "frozen");
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "frozen");
    EXPECT_EQ(dynamic_cast<const Error&>(error).code(), Code::kConflict);
  }
  EXPECT_EQ(code_name(Code::kEnvironment), "environment");
  EXPECT_EQ(code_name(static_cast<Code>(99)), "unknown");
}

}  // namespace
}  // namespace kw
