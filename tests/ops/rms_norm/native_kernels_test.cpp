// SPDX-License-Identifier: Apache-2.0
// The CPU kernels of rms_norm and rms_norm_backward against double loops, and the promises that
// comparison with a tolerance cannot show: nothing written outside outputs, NaNs contained.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "ops/rms_norm/support/native_calls.hpp"

namespace kw::ops::rms_norm::native {
namespace {

double reference_rstd(const Tensor& x, std::int64_t row) {
  double squares = 0;
  for (std::int64_t i = 0; i < x.columns(); ++i) squares += x.get(row, i) * x.get(row, i);
  return 1 / std::sqrt(squares / static_cast<double>(x.columns()) + kEps);
}

double reference_y(const Case& c, double x, double r, double w) {
  switch (c.variant) {
    case Variant::kStandard:
      return rounded(rounded(x * r, c.x) * w, c.x);
    case Variant::kFp32:
      return rounded(x * r * w, c.x);
    case Variant::kQwen3_5:
      return rounded(x * r * (1 + w), c.x);
    default:
      return rounded(x * rounded(r, c.x), c.x);
  }
}

struct Gradients {
  std::vector<double> dx, dweight, dx_scale, dweight_scale;  // scale: size of what was cancelled
};

Gradients reference_backward(const Case& c, const Tensor& dy, const Tensor& x, const Tensor& w) {
  const std::int64_t hidden = x.columns();
  Gradients g;
  g.dweight.resize(hidden);
  g.dweight_scale.resize(hidden);
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    const double r = reference_rstd(x, row);
    const auto m = [&](std::int64_t i) {
      if (c.variant == Variant::kUnweighted) return dy.get(row, i);
      return dy.get(row, i) * (w.get(0, i) + (c.variant == Variant::kQwen3_5 ? 1 : 0));
    };
    double mean = 0, size = 0;
    for (std::int64_t i = 0; i < hidden; ++i) {
      mean += m(i) * x.get(row, i) * r / static_cast<double>(hidden);
      size += std::abs(m(i) * x.get(row, i) * r) / static_cast<double>(hidden);
    }
    for (std::int64_t i = 0; i < hidden; ++i) {
      const double xh = x.get(row, i) * r;
      g.dx.push_back(r * (m(i) - xh * mean));
      g.dx_scale.push_back(r * (std::abs(m(i)) + std::abs(xh) * size));
      g.dweight[i] += dy.get(row, i) * xh;
      g.dweight_scale[i] += std::abs(dy.get(row, i) * xh);
    }
  }
  return g;
}

class NativeKernelsTest : public NativeKernels {
 protected:
  void check_forward(const Case& c, std::int64_t rows, std::int64_t hidden) const;
  void check_backward(const Case& c, std::int64_t rows, std::int64_t hidden) const;
};

void NativeKernelsTest::check_forward(const Case& c, std::int64_t rows, std::int64_t hidden) const {
  SCOPED_TRACE(text(c, rows, hidden));
  Operands o(c, rows, hidden);
  run(o.forward());
  std::int64_t different = 0;
  // A tie decided the other way in the first rounding costs up to 2 ulp in the second.
  const double limit = c.x == DType::kF32 ? 6 : c.variant == Variant::kStandard ? 2.01 : 1.01;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double r = reference_rstd(o.x, row);
    ASSERT_NEAR(o.rstd.get(row, 0), r, r * 0x1p-22);
    for (std::int64_t i = 0; i < hidden; ++i) {
      const double expected = reference_y(c, o.x.get(row, i), r, o.w.get(0, i));
      ASSERT_NEAR(o.y.get(row, i), expected, limit * ulp(expected, c.x)) << row << ", " << i;
      different += o.y.get(row, i) != expected;
    }
  }
  // Narrow results are almost always equal; another order of roundings differs in 20 %.
  if (c.x != DType::kF32) {
    EXPECT_LE(different, std::max<std::int64_t>(rows * hidden / 50, 1));
  }
  EXPECT_TRUE(o.y.surroundings_untouched());
  EXPECT_TRUE(o.rstd.surroundings_untouched());
}

TEST_P(NativeKernelsTest, ForwardMatchesTheReference) {
  for (const Case& c : all_cases()) {
    for (const std::int64_t hidden : {1, 2, 31, 100, 128, 257, 5003}) {
      for (const std::int64_t rows : {1, 19}) check_forward(c, rows, hidden);
    }
  }
}

// The scale of a row is one error that all its elements share, so it must not add to theirs.
TEST_P(NativeKernelsTest, ScaleIsTheNearestOfAnExactSum) {
  Operands o({DType::kF32, DType::kF32, Variant::kUnweighted}, 2000, 255);
  for (std::int64_t row = 0; row < o.x.rows(); ++row) {
    for (std::int64_t i = 0; i < o.x.columns(); ++i) {
      o.x.set(row, i, static_cast<double>((row * 131 + i * i * 7) % 23) / 8);
    }
  }
  run(o.forward());
  for (std::int64_t row = 0; row < o.x.rows(); ++row) {
    const double r = reference_rstd(o.x, row);
    ASSERT_NEAR(o.rstd.get(row, 0), r, 0.501 * ulp(r, DType::kF32)) << row;
  }
}

void NativeKernelsTest::check_backward(const Case& c, std::int64_t rows,
                                       std::int64_t hidden) const {
  SCOPED_TRACE(text(c, rows, hidden));
  Operands o(c, rows, hidden);
  run(o.forward());
  const Backward given(c, o.dy, o.x, o.w, &o.rstd, &o.dx, &o.dweight);
  run(given.call);
  EXPECT_TRUE(given.workspace_kept());
  const Gradients g = reference_backward(c, o.dy, o.x, o.w);
  for (std::int64_t row = 0, k = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < hidden; ++i, ++k) {
      ASSERT_NEAR(o.dx.get(row, i), g.dx[k], 0.51 * ulp(g.dx[k], c.x) + 0x1p-20 * g.dx_scale[k])
          << row << ", " << i;
    }
  }
  for (std::int64_t i = 0; i < hidden && c.variant != Variant::kUnweighted; ++i) {
    ASSERT_NEAR(o.dweight.get(0, i), g.dweight[i],
                0.51 * ulp(g.dweight[i], c.weight) + 0x1p-21 * g.dweight_scale[i])
        << i;
  }
  // rstd recomputed, and one output at a time, give the same bits.
  const auto dx_bits = o.dx.bits(), dweight_bits = o.dweight.bits();
  run(o.backward().call);
  EXPECT_EQ(o.dx.bits(), dx_bits);
  EXPECT_EQ(o.dweight.bits(), dweight_bits);
  EXPECT_TRUE(o.dx.surroundings_untouched());
  run(Backward(c, o.dy, o.x, o.w, nullptr, &o.dx, nullptr).call);
  EXPECT_EQ(o.dx.bits(), dx_bits);
  EXPECT_TRUE(o.dweight.surroundings_untouched());
  run(Backward(c, o.dy, o.x, o.w, &o.rstd, nullptr, &o.dweight).call);
  EXPECT_EQ(o.dweight.bits(), dweight_bits);
}

TEST_P(NativeKernelsTest, BackwardMatchesTheReference) {
  for (const Case& c : all_cases()) {
    for (const std::int64_t hidden : {1, 15, 128, 257}) {
      for (const std::int64_t rows : {1, 131}) check_backward(c, rows, hidden);
    }
    check_backward(c, 2, 4099);
  }
}

TEST_P(NativeKernelsTest, WidestRows) {  // beyond L2 and beyond fetching ahead
  for (const DType x : {DType::kBF16, DType::kF32}) {
    check_forward({x, DType::kF32, Variant::kQwen3_5}, 3, 262144);
    check_backward({x, DType::kF32, Variant::kQwen3_5}, 3, 262143);
  }
}

TEST_P(NativeKernelsTest, ExpandedGradientEqualsItsCopy) {
  const Case c{DType::kBF16, DType::kF32, Variant::kQwen3_5};
  Operands o(c, 70, 515);
  o.dy.fill(0.75, 0.75, 3);
  run(o.backward().call);
  const auto dx_bits = o.dx.bits(), dweight_bits = o.dweight.bits();
  Tensor expanded(c.x, {70, 515}, {0, 0});
  expanded.set(0, 0, 0.75);
  run(Backward(c, expanded, o.x, o.w, nullptr, &o.dx, &o.dweight).call);
  EXPECT_EQ(o.dx.bits(), dx_bits);
  EXPECT_EQ(o.dweight.bits(), dweight_bits);
}

TEST_P(NativeKernelsTest, WeightGradientOfManyRowsIsExactToAFewUlps) {
  const Case c{DType::kF32, DType::kF32, Variant::kStandard};
  Operands o(c, 1000003, 3);
  o.x.fill(0.5, 1.5, 1);  // all terms positive: a sequential f32 sum is off by thousands of ulps
  o.dy.fill(0.5, 1.5, 5);
  run(o.backward().call);
  const Gradients g = reference_backward(c, o.dy, o.x, o.w);
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(o.dweight.get(0, i), g.dweight[i], 2 * ulp(g.dweight[i], DType::kF32));
  }
}

TEST_P(NativeKernelsTest, EmptyProblems) {
  const Case c;
  Tensor x(c.x, {0, 100}), w(c.weight, {100}), dweight(c.weight, {100}), rstd(DType::kF32, {0, 1});
  w.fill(1, 1, 2);
  run(forward_call(c, x, w, x, &rstd));
  run(Backward(c, x, x, w, &rstd, &x, &dweight).call);
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(dweight.get(0, i), 0);
  EXPECT_TRUE(x.surroundings_untouched());
  EXPECT_TRUE(dweight.surroundings_untouched());
  EXPECT_EQ(backward_workspace_bytes(0, 100), 0);
  Tensor empty(c.x, {4, 0}), no_weight(c.weight, {0});
  run(forward_call(c, empty, no_weight, empty));
  run(Backward(c, empty, empty, no_weight, nullptr, &empty, &no_weight).call);
}

TEST_P(NativeKernelsTest, LargeAndZeroRowsStayFinite) {
  for (const Case& c : all_cases()) {
    Operands o(c, 2, 200);
    o.dy.fill(0.01, 0.01, 1);
    o.w.fill(0.5, 0.5, 2);
    for (std::int64_t i = 0; i < 200; ++i) {
      o.x.set(0, i, i % 2 == 0 ? 300 : -300);  // squares beyond f16
      o.x.set(1, i, 0);
    }
    run(o.forward());
    run(o.backward().call);
    EXPECT_NEAR(o.rstd.get(0, 0), 1.0 / 300, 1e-8);
    EXPECT_NEAR(o.rstd.get(1, 0), 1000, 0.5);
    double scale = c.variant == Variant::kUnweighted ? 1 : 0.5;
    if (c.variant == Variant::kQwen3_5) scale = 1.5;
    for (std::int64_t i = 0; i < 200; ++i) {
      EXPECT_NEAR(std::abs(o.y.get(0, i)), scale, 0.01);
      EXPECT_EQ(o.y.get(1, i), 0);
      EXPECT_NEAR(o.dx.get(1, i), 10 * scale, 0.1);
    }
  }
}

TEST_P(NativeKernelsTest, NansAndInfinitiesReachTheirRowOnly) {
  for (const Case& c : all_cases()) {
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      SCOPED_TRACE(text(c, 20, 77));
      Operands o(c, 20, 77);
      o.w.fill(0.5, 1.5, 2);
      o.x.set(9, 70, bad);
      run(o.forward());
      run(o.backward().call);
      for (std::int64_t row = 0; row < 20; ++row) {
        for (std::int64_t i = 0; i < 77; ++i) {
          // An infinite row has r = 0: zeros, and NaN at the infinity itself.
          const bool expected = row == 9 && (std::isnan(bad) || i == 70);
          ASSERT_EQ(std::isnan(o.y.get(row, i)), expected) << row << ", " << i;
          ASSERT_TRUE(row == 9 || !std::isnan(o.dx.get(row, i)));
        }
      }
      EXPECT_TRUE(std::isnan(o.dx.get(9, 70)));
      EXPECT_TRUE(c.variant == Variant::kUnweighted || std::isnan(o.dweight.get(0, 70)));
    }
  }
}

// A NaN of f32 whose payload would carry into the sign if it were rounded like a number.
TEST_P(NativeKernelsTest, NansOfAnyPayloadStayNans) {
  const std::uint32_t payload = 0x7fffffff;
  for (const Case& c : all_cases()) {
    if (c.weight != DType::kF32 || c.variant == Variant::kUnweighted) continue;
    Operands o(c, 2, 64);
    o.x.fill(1, 2, 1);
    std::memcpy(o.w.at(0, 5), &payload, 4);
    run(o.forward());
    EXPECT_TRUE(std::isnan(o.y.get(0, 5)) && std::isnan(o.y.get(1, 5)));
    EXPECT_FALSE(std::isnan(o.y.get(0, 4)));
    o.w.fill(1, 2, 2);
    std::memcpy(o.rstd.at(1, 0), &payload, 4);
    run(Backward(c, o.dy, o.x, o.w, &o.rstd, &o.dx, &o.dweight).call);
    for (std::int64_t i = 0; i < 64; ++i) {
      EXPECT_TRUE(std::isnan(o.dx.get(1, i)) && !std::isnan(o.dx.get(0, i)));
      EXPECT_TRUE(std::isnan(o.dweight.get(0, i)));
    }
  }
}

TEST(NativeWorkspace, NeverDecreasesWithRows) {
  for (const std::int64_t hidden : {1, 129, 4096, 262144}) {
    std::int64_t last = 0;
    for (std::int64_t rows = 0; rows < 10000; ++rows) {
      const std::int64_t bytes = backward_workspace_bytes(rows, hidden);
      ASSERT_GE(bytes, last);
      last = bytes;
    }
    EXPECT_EQ(backward_workspace_bytes(std::int64_t{1} << 40, hidden), last);
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, NativeKernelsTest, testing::Values(Isa::kAvx2, Isa::kAvx512),
                         isa_name);

}  // namespace
}  // namespace kw::ops::rms_norm::native
