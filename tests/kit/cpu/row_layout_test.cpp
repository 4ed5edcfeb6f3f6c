// SPDX-License-Identifier: Apache-2.0
// RowLayout: which leading dimensions merge, and that offsets are right where they do not.
#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "kernelwright/kit/cpu/row_layout.hpp"

namespace kw::kit::cpu {
namespace {

RowLayout layout(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
  return RowLayout(shape, strides);
}

TEST(RowLayout, ContiguousIsOnePitch) {
  const RowLayout rows = layout({2, 3, 4, 8}, {96, 32, 8, 1});
  EXPECT_EQ(rows.dims, 1);
  EXPECT_EQ(rows.rows, 24);
  EXPECT_EQ(rows.strides[0], 8);
  EXPECT_EQ(rows.inner, 1);
}

TEST(RowLayout, PitchedAndUnitDimensionsMerge) {
  // q of a packed projection: heads adjacent, tokens 2 * 4 * 8 apart; a size-1 batch of odd stride.
  const RowLayout rows = layout({1, 5, 4, 8}, {777, 64, 16, 1});
  EXPECT_EQ(rows.dims, 1);
  EXPECT_EQ(rows.strides[0], 16);
}

TEST(RowLayout, ExpandedDimensionsMerge) {
  const RowLayout rows = layout({3, 5, 8}, {0, 0, 0});
  EXPECT_EQ(rows.dims, 1);
  EXPECT_EQ(rows.rows, 15);
  EXPECT_EQ(rows.inner, 0);
  EXPECT_EQ(rows.offset(14), 0);
}

TEST(RowLayout, OneRowAndOneColumn) {
  EXPECT_EQ(layout({8}, {3}).rows, 1);
  EXPECT_EQ(layout({8}, {3}).offset(0), 0);
  EXPECT_EQ(layout({6, 1}, {2, 99}).inner, 1);
  EXPECT_EQ(layout({0, 8}, {8, 1}).rows, 0);
}

TEST(RowLayout, OffsetsOfEveryRowMatchTheIndexArithmetic) {
  const std::array<std::vector<std::int64_t>, 4> strides = {
      {{1000, 7, 300, 1}, {2, 1000, 50, 4}, {-40, 400, 0, 1}, {int64_t{1} << 40, 64, 16, 1}}};
  const std::vector<std::int64_t> shape = {3, 5, 4, 8};
  for (const auto& stride : strides) {
    const RowLayout rows = layout(shape, stride);
    std::int64_t row = 0;
    for (std::int64_t a = 0; a < 3; ++a) {
      for (std::int64_t b = 0; b < 5; ++b) {
        for (std::int64_t c = 0; c < 4; ++c) {
          EXPECT_EQ(rows.offset(row++), a * stride[0] + b * stride[1] + c * stride[2]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kw::kit::cpu
