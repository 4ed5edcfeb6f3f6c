// SPDX-License-Identifier: Apache-2.0
// Views, and the overlap questions against brute force over the bytes.
#include "kernelwright/base/tensor.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "support/expect_error.hpp"

namespace kw {
namespace {

using test::expect_error;

// Byte offset of every element, in index order.
std::vector<std::int64_t> offsets(const TensorView& view) {
  std::vector<std::int64_t> result;
  std::vector<std::int64_t> index(static_cast<std::size_t>(view.rank), 0);
  for (std::int64_t n = view.numel(); n > 0; --n) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * view.strides[i];
    result.push_back(offset * static_cast<std::int64_t>(dtype_bytes(view.dtype)));
    for (std::size_t i = index.size(); i-- > 0;) {
      if (++index[i] < view.sizes[i]) break;
      index[i] = 0;
    }
  }
  return result;
}

bool share_a_byte(const TensorView& a, const TensorView& b) {
  std::set<std::intptr_t> bytes;
  const auto base_a = reinterpret_cast<std::intptr_t>(a.data),
             base_b = reinterpret_cast<std::intptr_t>(b.data);
  for (const std::int64_t at : offsets(a)) {
    for (std::size_t i = 0; i < dtype_bytes(a.dtype); ++i)
      bytes.insert(base_a + at + static_cast<std::int64_t>(i));
  }
  for (const std::int64_t at : offsets(b)) {
    for (std::size_t i = 0; i < dtype_bytes(b.dtype); ++i) {
      if (bytes.count(base_b + at + static_cast<std::int64_t>(i)) != 0) return true;
    }
  }
  return false;
}

void* address(std::int64_t bytes) { return reinterpret_cast<void*>(0x10000 + bytes); }

TEST(TensorView, IsAbsentByDefaultAndRowMajorByShape) {
  EXPECT_FALSE(TensorView().present());
  const TensorView view(address(0), DType::kBF16, {3, 4, 5});
  EXPECT_EQ(view.rank, 3);
  EXPECT_EQ(view.strides[0], 20);
  EXPECT_EQ(view.strides[2], 1);
  EXPECT_EQ(view.numel(), 60);
  EXPECT_TRUE(view.contiguous());
  EXPECT_EQ(view.byte_range().end, 120);
  const TensorView scalar(address(0), DType::kF64, std::initializer_list<std::int64_t>{});
  EXPECT_TRUE(scalar.present());
  EXPECT_EQ(scalar.numel(), 1);
  EXPECT_EQ(scalar.byte_range().end, 8);
}

TEST(TensorView, ContiguityLooksThroughSizeOneAndEmptiness) {
  const auto is_contiguous = [](std::vector<std::int64_t> sizes,
                                std::vector<std::int64_t> strides) {
    return TensorView(nullptr, DType::kF32, sizes, strides).contiguous();
  };
  EXPECT_TRUE(is_contiguous({1, 4}, {77, 1}));
  EXPECT_TRUE(is_contiguous({0, 4}, {9, 9}));
  EXPECT_TRUE(is_contiguous({4, 1, 2}, {2, 0, 1}));
  EXPECT_FALSE(is_contiguous({4, 2}, {3, 1}));
  EXPECT_FALSE(is_contiguous({4, 2}, {1, 4}));
  EXPECT_FALSE(is_contiguous({4}, {0}));
}

TEST(TensorView, RefusesWhatItCannotHold) {
  expect_error(Code::kInvalidArgument, {"9 dimensions", "at most 8"}, [] {
    TensorView(nullptr, DType::kF32, {1, 1, 1, 1, 1, 1, 1, 1, 1});
  });
  const std::vector<std::int64_t> two{2, 2}, one{1};
  expect_error(Code::kInvalidArgument, {"2 sizes but 1 strides"},
               [&] { TensorView(nullptr, DType::kF32, two, one); });
}

TEST(TensorView, EmptyRangesAndNegativeStrides) {
  EXPECT_EQ(TensorView(address(0), DType::kF32, {4, 0}).byte_range().end, 0);
  const std::vector<std::int64_t> sizes{3, 2}, strides{-2, 1};
  const auto range = TensorView(address(0), DType::kF32, sizes, strides).byte_range();
  EXPECT_EQ(range.begin, -16);
  EXPECT_EQ(range.end, 8);
}

// Never a false "disjoint"; and few false alarms, all of them between interleaved layouts.
TEST(Overlap, AgreesWithBruteForceOnRandomViews) {
  std::mt19937 random(11);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const auto view = [&] {
    const int rank = pick(0, 3);
    std::vector<std::int64_t> sizes, strides;
    for (int i = 0; i < rank; ++i) {
      sizes.push_back(pick(0, 4));
      strides.push_back(pick(0, 5) == 0 ? -pick(1, 8) : pick(0, 12));
    }
    constexpr DType kTypes[] = {DType::kF32, DType::kBF16, DType::kU8};
    return TensorView(address(2 * pick(0, 40)), kTypes[pick(0, 2)], sizes, strides);
  };
  int overlaps = 0, alarms = 0, disjoint = 0;
  for (int i = 0; i < 60'000; ++i) {
    const TensorView a = view(), b = view();
    const bool real = share_a_byte(a, b), claimed = may_overlap(a, b);
    ASSERT_EQ(claimed, may_overlap(b, a));
    if (real) {
      ASSERT_TRUE(claimed) << i;
    }
    overlaps += real;
    alarms += claimed && !real;
    disjoint += !claimed;
  }
  EXPECT_GT(overlaps, 5000);
  EXPECT_GT(disjoint, 5000);
  EXPECT_LT(alarms, 12'000);
}

// The views that models make: heads and parts of one packed projection, in any order of dimensions.
TEST(Overlap, IsExactForSlicesOfAPackedBuffer) {
  std::mt19937 random(12);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int i = 0; i < 20'000; ++i) {
    const int batch = pick(1, 3), steps = pick(1, 3), width = pick(2, 9);
    const std::int64_t pitch = width;
    const auto slice = [&] {
      const int from = pick(0, width - 1), count = pick(1, width - from);
      std::vector<std::int64_t> sizes{batch, steps, count}, strides{steps * pitch, pitch, 1};
      if (pick(0, 1) != 0) {
        std::swap(sizes[0], sizes[1]);
        std::swap(strides[0], strides[1]);
      }
      return TensorView(address(4 * from), DType::kF32, sizes, strides);
    };
    const TensorView a = slice(), b = slice();
    ASSERT_EQ(may_overlap(a, b), share_a_byte(a, b)) << i;
  }
}

TEST(Overlap, OneRowBesideManyOfTheSamePitch) {
  const std::vector<std::int64_t> many{4, 6}, pitch{16, 1}, one{1, 6};
  const TensorView rows(address(0), DType::kF32, many, pitch);
  EXPECT_FALSE(may_overlap(rows, TensorView(address(4 * (16 + 6)), DType::kF32, one)));
  EXPECT_TRUE(may_overlap(rows, TensorView(address(4 * (16 + 5)), DType::kF32, one)));
}

TEST(Overlap, AbsentNullAndEmptyViewsShareNothing) {
  const TensorView view(address(0), DType::kF32, {4});
  EXPECT_FALSE(may_overlap(view, TensorView()));
  EXPECT_FALSE(may_overlap(view, TensorView(nullptr, DType::kF32, {4})));
  EXPECT_FALSE(may_overlap(view, TensorView(address(4), DType::kF32, {0})));
  EXPECT_TRUE(may_overlap(view, view));
}

TEST(SelfOverlap, NeverMissesAndIsExactForNestedLayouts) {
  std::mt19937 random(13);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int i = 0; i < 50'000; ++i) {
    std::vector<std::int64_t> sizes, strides;
    for (int d = pick(0, 3); d > 0; --d) {
      sizes.push_back(pick(0, 4));
      strides.push_back(pick(-3, 14));
    }
    const TensorView view(address(0), DType::kU8, sizes, strides);
    const auto all = offsets(view);
    const bool real = std::set(all.begin(), all.end()).size() != all.size();
    if (real) {
      ASSERT_TRUE(self_overlaps(view)) << i;
    }
  }
  const auto overlaps = [](std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides) {
    return self_overlaps(TensorView(nullptr, DType::kF32, sizes, strides));
  };
  EXPECT_FALSE(overlaps({4, 3, 2}, {2, 8, 1}));
  EXPECT_FALSE(overlaps({4}, {-1})) << "a reversed view";
  EXPECT_FALSE(overlaps({1, 4}, {0, 1})) << "size one has no second index";
  EXPECT_TRUE(overlaps({2, 4}, {0, 1}));
  EXPECT_TRUE(overlaps({2, 4}, {3, 1}));
}

}  // namespace
}  // namespace kw
