// SPDX-License-Identifier: Apache-2.0
// Inputs are the same bits everywhere: golden hashes, strides, threads, and what each fill
// promises.
#include "kernelwright/suite/fill.hpp"

#include <cmath>
#include <cstring>
#include <map>

#include <gtest/gtest.h>

#include "kernelwright/base/error.hpp"
#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/guarded_tensor.hpp"
#include "kernelwright/suite/random.hpp"

namespace kw::suite {
namespace {

struct Dense {
  std::vector<std::byte> bytes;
  TensorView view;

  Dense(DType dtype, std::initializer_list<std::int64_t> sizes) : view(nullptr, dtype, sizes) {
    bytes.resize(static_cast<std::size_t>(view.numel()) * dtype_bytes(dtype));
    view.data = bytes.data();
  }
};

std::uint64_t golden(DType dtype, Fill fill, std::uint64_t seed) {
  Dense tensor(dtype, {37, 65});
  fill_tensor(tensor.view, {fill, seed, "x", 65, 0});
  return hash_bytes(tensor.bytes.data(), tensor.bytes.size())[0];
}

TEST(Philox, MatchesTheKnownAnswers) {
  // Random123's kat_vectors: philox4x32-10 of zeros, and of ones.
  EXPECT_EQ(philox(0, 0, 0), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  std::uint32_t lanes[4][4];
  kit::philox(0x1234567890abcdefULL, 77, 3, lanes);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const PhiloxBlock one = philox(0x1234567890abcdefULL, 77 + i, 3);
    for (std::size_t w = 0; w < 4; ++w) EXPECT_EQ(lanes[w][i], one[w]);
  }
}

// Computed by another program (Python, whole numbers only) from the description of each fill.
TEST(Fill, GoldenHashes) {
  struct Row {
    DType dtype;
    Fill fill;
    std::uint64_t seed, hash;
  };
  const Row rows[] = {
      {DType::kF32, Fill::kNormal, 1, 0x5563f05b1fc6a844},
      {DType::kBF16, Fill::kNormal, 1, 0x07a088c739afa09c},
      {DType::kF16, Fill::kNormal, 1, 0xd252ea292233ba21},
      {DType::kBF16, Fill::kNormal, 2, 0xe9748ae722a631f8},
      {DType::kF32, Fill::kUniform, 1, 0x80abbe5ef4cda1e0},
      {DType::kBF16, Fill::kNormalOutlier, 1, 0xa57387c9cea2ea1e},
      {DType::kF16, Fill::kBig, 1, 0xecd26654ba0e1780},
      {DType::kF32, Fill::kTiny, 1, 0x4f294aff92c18196},
      {DType::kBF16, Fill::kExactInt, 1, 0x01ae132042488b17},
      {DType::kI32, Fill::kNormal, 1, 0xa2982555c7999c6b},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(golden(row.dtype, row.fill, row.seed), row.hash)
        << dtype_name(row.dtype) << ' ' << fill_name(row.fill) << ' ' << row.seed << std::hex
        << " is 0x" << golden(row.dtype, row.fill, row.seed);
  }
}

TEST(Fill, ValuesDoNotDependOnStrides) {
  Dense dense(DType::kF32, {6, 5, 7});
  fill_tensor(dense.view, {Fill::kNormal, 9, "x", 7, 0});
  std::vector<float> memory(6 * 200, 0.0F);
  const std::int64_t sizes[] = {6, 5, 7}, strides[] = {190, 2, 13};
  const TensorView strided(memory.data(), DType::kF32, sizes, strides);
  fill_tensor(strided, {Fill::kNormal, 9, "x", 7, 0});
  EXPECT_EQ(read_elements(dense.view), read_elements(strided));
}

TEST(Fill, ExpandedDimensionsHoldTheirFirstSlice) {
  Dense dense(DType::kF32, {4, 3, 8});
  fill_tensor(dense.view, {Fill::kNormal, 9, "x", 8, 0});
  std::vector<float> memory(4 * 8);
  const std::int64_t sizes[] = {4, 3, 8}, strides[] = {8, 0, 1};
  const TensorView expanded(memory.data(), DType::kF32, sizes, strides);
  fill_tensor(expanded, {Fill::kNormal, 9, "x", 8, 0});
  const std::vector<double> whole = read_elements(dense.view), repeated = read_elements(expanded);
  for (std::size_t b = 0; b < 4; ++b) {
    for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(repeated[b * 24 + i], whole[b * 24 + i % 8]);
  }
}

TEST(Fill, LargeTensorsEqualTheirParts) {  // crosses the chunks of the parallel loop
  Dense large(DType::kBF16, {3, 9001});
  fill_tensor(large.view, {Fill::kNormal, 5, "x", 9001, 0});
  Dense row(DType::kBF16, {1, 9001});
  fill_tensor(row.view, {Fill::kNormal, 5, "x", 9001, 0});
  EXPECT_EQ(0, std::memcmp(large.bytes.data(), row.bytes.data(), row.bytes.size()));
}

TEST(Fill, NamesAndSeedsSeparateTensors) {
  std::map<std::uint64_t, int> seen;
  for (const char* name : {"x", "weight", "layers[0]", "layers[1]"}) {
    for (std::uint64_t seed : {1, 2, 3}) {
      Dense tensor(DType::kF32, {64});
      fill_tensor(tensor.view, {Fill::kNormal, seed, name, 64, 0});
      ++seen[hash_bytes(tensor.bytes.data(), tensor.bytes.size())[0]];
    }
  }
  EXPECT_EQ(seen.size(), 12U);
}

TEST(Fill, NormalHasItsMomentsAndRange) {
  Dense tensor(DType::kF32, {1 << 18});
  fill_tensor(tensor.view, {Fill::kNormal, 3, "x", 1 << 18, 0});
  double sum = 0, squares = 0, largest = 0;
  for (const double v : read_elements(tensor.view)) {
    sum += v;
    squares += v * v;
    largest = std::max(largest, std::fabs(v));
  }
  const double n = 1 << 18;
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 0.02);
  EXPECT_GT(largest, 4);
  EXPECT_LE(largest, 6);
}

TEST(Fill, EachFillKeepsItsPromise) {
  const auto values = [](Fill fill, DType dtype = DType::kF32) {
    Dense tensor(dtype, {9, 20});
    fill_tensor(tensor.view, {fill, 1, "x", 20, 0});
    return read_elements(tensor.view);
  };
  for (const double v : values(Fill::kZeros)) EXPECT_EQ(v, 0);
  for (const double v : values(Fill::kExactInt))
    EXPECT_TRUE(v == std::floor(v) && std::fabs(v) <= 4) << v;
  for (const double v : values(Fill::kUniform)) EXPECT_TRUE(v >= -1 && v < 1) << v;
  for (const double v : values(Fill::kBig))
    EXPECT_TRUE(std::fabs(v) >= 0x1p48 && std::isfinite(v * v)) << v;
  for (const double v : values(Fill::kBig, DType::kF16))
    EXPECT_TRUE(std::fabs(v) >= 0x1p14 && std::isfinite(v)) << v;
  for (const double v : values(Fill::kTiny)) EXPECT_TRUE(v != 0 && std::fabs(v) < 0x1p-126) << v;
  const std::vector<double> constant = values(Fill::kConst), rows = values(Fill::kZeroRows);
  const std::vector<double> nan = values(Fill::kNanRow), inf = values(Fill::kInfElem);
  int infinities = 0;
  for (std::size_t i = 0; i < constant.size(); ++i) {
    EXPECT_EQ(constant[i], constant[i / 20 * 20]);
    EXPECT_EQ(rows[i] == 0, i / 20 % 3 == 0);
    EXPECT_EQ(std::isnan(nan[i]), i / 20 == 4 && i % 20 % 5 == 0);
    infinities += std::isinf(inf[i]) ? 1 : 0;
  }
  EXPECT_EQ(infinities, 1);
  EXPECT_TRUE(std::isinf(inf[4 * 20 + 10]));
}

TEST(Fill, UnknownNamesListTheCatalogue) {
  EXPECT_EQ(parse_fill("mixed_mag"), Fill::kMixedMag);
  try {
    parse_fill("norml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'normal'"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("zero_rows"), std::string::npos) << error.what();
  }
}

TEST(Element, RoundsOnceFromDouble) {
  // Halfway for bf16 after rounding to float first, but not in truth.
  const double just_above = 1 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(round_to(DType::kBF16, just_above), 1 + 0x1p-7);
  EXPECT_EQ(round_to(DType::kBF16, 1 + 0x1p-8), 1);
  EXPECT_EQ(round_to(DType::kF16, 65519.0), 65504.0);
  EXPECT_TRUE(std::isinf(round_to(DType::kF16, 65520.0)));
  EXPECT_EQ(float_format(DType::kBF16).ulp(1.5), 0x1p-7);
  EXPECT_EQ(float_format(DType::kF16).ulp(0), 0x1p-24);
  EXPECT_EQ(float_format(DType::kF32).smallest(), 0x1p-149);
  EXPECT_EQ(round_to(DType::kBF16, float_format(DType::kBF16).max_finite),
            float_format(DType::kBF16).max_finite);
  EXPECT_THROW(round_to(DType::kF8E4M3, 1), Error);
}

}  // namespace
}  // namespace kw::suite
