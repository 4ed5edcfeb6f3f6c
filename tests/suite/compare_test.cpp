// SPDX-License-Identifier: Apache-2.0
// The comparator: each gate has data that only it catches, and data next to it that passes.
#include "kernelwright/suite/compare.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "kernelwright/base/error.hpp"
#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/random.hpp"

namespace kw::suite {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> noise(std::size_t count, std::uint64_t key = 1) {
  RandomStream random(key);
  std::vector<double> values(count);
  for (double& v : values) {
    v = -6;
    for (int i = 0; i < 12; ++i) v += random.unit();
  }
  return values;
}

// An output tensor of `dtype` and its oracle.
struct Sample {
  std::vector<double> exact;
  std::vector<double> storage;
  TensorView view;
  std::int64_t width;

  Sample(DType dtype, std::int64_t rows, std::int64_t columns)
      : exact(noise(static_cast<std::size_t>(rows * columns))), width(columns) {
    storage.resize(exact.size());
    view = TensorView(storage.data(), dtype, {rows, columns});
    write_elements(view, exact);
  }
  double get(std::int64_t i) const {
    return load_element(
        view.dtype, static_cast<std::byte*>(view.data) + i * std::int64_t(dtype_bytes(view.dtype)));
  }
  void set(std::int64_t i, double v) {
    store_element(view.dtype,
                  static_cast<std::byte*>(view.data) + i * std::int64_t(dtype_bytes(view.dtype)),
                  v);
  }

  OutputTraits traits() const {
    OutputTraits t;
    t.dtype = view.dtype;
    t.width = width;
    return t;
  }
  Comparison run() const { return run(gates_for(traits())); }
  Comparison run(const Gates& gates, std::span<const double> steps = {}) const {
    Expectation e;
    e.exact = exact;
    e.steps = steps;
    e.row_width = width;
    return compare("y", view, e, gates);
  }
};

testing::AssertionResult fails(const Comparison& c, Reason reason, std::string_view text = {}) {
  for (const CheckResult& check : c.failures) {
    if (check.reason == reason && check.message.find(text) != std::string::npos)
      return testing::AssertionSuccess();
  }
  auto result = testing::AssertionFailure()
                << "no failure " << reason_name(reason) << " with '" << text << "'; found:";
  for (const CheckResult& check : c.failures)
    result << "\n  " << reason_name(check.reason) << ": " << check.message;
  return result;
}

testing::AssertionResult passes(const Comparison& c) {
  if (c.failures.empty()) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << reason_name(c.failures[0].reason) << ": " << c.failures[0].message;
}

TEST(Compare, CorrectRoundingPassesInEveryShapeAndType) {
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32, DType::kF64}) {
    for (const auto& [rows, columns] : {std::pair{1, 1}, {1, 7}, {300, 1}, {40, 33}, {64, 1024}}) {
      const Sample sample(dtype, rows, columns);
      const Comparison c = sample.run();
      EXPECT_TRUE(passes(c)) << dtype_name(dtype) << ' ' << rows << 'x' << columns;
      EXPECT_EQ(c.metrics.exact_share, 1);
      EXPECT_EQ(c.metrics.max_ulps, 0);
    }
  }
}

TEST(Compare, OneRoundingIsTheFloor) {
  const Comparison c = Sample(DType::kBF16, 512, 512).run();
  EXPECT_NEAR(c.metrics.tensor_nrmse / rounding_floor(DType::kBF16), 1, 0.02);
  EXPECT_LT(std::fabs(c.metrics.bias_z), 4);
}

TEST(Compare, EmptyTensorsPass) { EXPECT_TRUE(passes(Sample(DType::kBF16, 0, 16).run())); }

TEST(Compare, OneBadElementOfMany) {
  Sample sample(DType::kBF16, 1000, 1000);
  sample.set(777777, sample.get(777777) + 3 * float_format(DType::kBF16).ulp(sample.get(777777)));
  const Comparison c = sample.run();
  EXPECT_TRUE(fails(c, Reason::kNumericMismatch, "1 elements"));
  ASSERT_FALSE(c.metrics.worst.empty());
  EXPECT_EQ(c.metrics.worst[0].index, 777777);
}

TEST(Compare, OneBadRowOfMany) {
  Sample sample(DType::kBF16, 4096, 64);
  for (std::int64_t i = 0; i < 64; ++i) sample.set(1234 * 64 + i, sample.get(1234 * 64 + i) * 1.01);
  const Comparison c = sample.run();
  EXPECT_TRUE(fails(c, Reason::kNumericMismatch, "row 1234"));
}

TEST(Compare, PermutedRowsFail) {
  Sample sample(DType::kF32, 16, 64);
  const std::vector<double> original = read_elements(sample.view);
  for (std::int64_t i = 0; i < 16 * 64; ++i)
    sample.set(i, original[static_cast<std::size_t>((i + 64) % (16 * 64))]);
  EXPECT_TRUE(fails(sample.run(), Reason::kNumericMismatch, "row"));
}

// A stride of 0 repeats one row, and with it the rounding error of its largest element: 891 rows of
// one outlier are one sample.
TEST(Compare, RepeatedRowsAreOneSample) {
  Sample sample(DType::kF16, 891, 147);
  for (std::int64_t row = 0; row < 891; ++row) {
    for (std::int64_t i = 0; i < 147; ++i) {
      const double value = i == 0 ? 40 + 0.49 / 32 : sample.exact[static_cast<std::size_t>(i)];
      sample.exact[static_cast<std::size_t>(row * 147 + i)] = value;
      sample.set(row * 147 + i, value);
    }
  }
  Expectation repeated;
  repeated.exact = sample.exact;
  repeated.row_width = sample.width;
  repeated.independent = false;
  OutputTraits traits = sample.traits();
  traits.random = false;
  const Comparison c = compare("y", sample.view, repeated, gates_for(traits));
  EXPECT_TRUE(passes(c));
  EXPECT_GT(c.metrics.tensor_nrmse, 1.7 * rounding_floor(DType::kF16));
}

TEST(Compare, ExtraRoundingIsSeenByTheWholeTensor) {
  Sample sample(DType::kBF16, 256, 256);
  const std::vector<double> factor = noise(256, 7);
  for (std::size_t i = 0; i < sample.exact.size(); ++i) {
    sample.set(static_cast<std::int64_t>(i),
               round_to(DType::kBF16, sample.exact[i]) * factor[i % 256]);
    sample.exact[i] *= factor[i % 256];
  }
  const Comparison c = sample.run();
  EXPECT_TRUE(fails(c, Reason::kNumericMismatch, "whole tensor"));
  EXPECT_NEAR(c.metrics.tensor_nrmse / rounding_floor(DType::kBF16), 1.41, 0.05);
  EXPECT_TRUE(fails(c, Reason::kNumericMismatch, "correctly rounded"));
}

TEST(Compare, TruncationIsBias) {
  Sample sample(DType::kBF16, 64, 512);
  for (std::size_t i = 0; i < sample.exact.size(); ++i) {
    const double nearest = round_to(DType::kBF16, sample.exact[i]);
    if (std::fabs(nearest) > std::fabs(sample.exact[i]))
      sample.set(static_cast<std::int64_t>(i),
                 nearest - std::copysign(float_format(DType::kBF16).ulp(sample.exact[i]), nearest));
  }
  const Comparison c = sample.run();
  EXPECT_TRUE(fails(c, Reason::kBias, "towards zero"));
  EXPECT_LT(c.metrics.bias_z, -50);
}

// 131072 elements, but one factor times 128 mantissas: their mean error is that of 128 samples.
TEST(Compare, OneRowOfFewMantissasMayLean) {
  Sample sample(DType::kBF16, 1, 131072);
  for (std::size_t i = 0; i < sample.exact.size(); ++i) {
    sample.exact[i] = 1.3352 * round_to(DType::kBF16, sample.exact[i]);
    sample.set(static_cast<std::int64_t>(i), sample.exact[i]);
  }
  Expectation expected;
  expected.exact = sample.exact;
  expected.row_width = sample.width;
  const Gates gates = gates_for(sample.traits());
  const Comparison as_random = compare("y", sample.view, expected, gates);
  EXPECT_TRUE(fails(as_random, Reason::kBias));
  expected.mantissas = 128;
  EXPECT_TRUE(passes(compare("y", sample.view, expected, gates)));
}

TEST(Compare, ScalingByOnePerMilleIsFound) {
  Sample sample(DType::kBF16, 64, 512);
  for (std::size_t i = 0; i < sample.exact.size(); ++i)
    sample.set(static_cast<std::int64_t>(i), sample.exact[i] * 0.999);
  const Comparison c = sample.run();
  EXPECT_TRUE(fails(c, Reason::kBias));
  EXPECT_TRUE(fails(c, Reason::kNumericMismatch, "correctly rounded"));
}

TEST(Compare, NanIsNoWildcard) {
  for (const auto& [expected, got] :
       {std::pair{1.0, kNan}, {kNan, 1.0}, {kInf, -kInf}, {kInf, kNan}, {1.0, kInf}, {kInf, 1.0}}) {
    Sample sample(DType::kBF16, 4, 64);
    sample.exact[70] = expected;
    sample.set(70, got);
    EXPECT_TRUE(fails(sample.run(), Reason::kNonfiniteMismatch, "index 70"))
        << expected << ' ' << got;
  }
  Sample sample(DType::kBF16, 4, 64);
  sample.exact[70] = kNan;
  sample.exact[71] = -kInf;
  sample.set(70, kNan);
  sample.set(71, -kInf);
  EXPECT_TRUE(passes(sample.run()));
}

TEST(Compare, OverflowBelongsToTheStorage) {
  Sample sample(DType::kF16, 2, 64);
  sample.exact[3] = 1e6;
  sample.set(3, kInf);
  EXPECT_TRUE(passes(sample.run()));
  sample.set(3, 65504);
  EXPECT_TRUE(fails(sample.run(), Reason::kNonfiniteMismatch));
  sample.exact[3] = 65519.9;  // a last bit decides
  sample.set(3, kInf);
  EXPECT_TRUE(passes(sample.run()));
}

TEST(Compare, ExactZerosMustBeZero) {
  Sample sample(DType::kBF16, 4, 64);
  for (std::size_t i = 64; i < 128; ++i) {
    sample.exact[i] = 0;
    sample.set(static_cast<std::int64_t>(i), 0);
  }
  EXPECT_TRUE(passes(sample.run()));
  sample.set(100, 0x1p-130);
  EXPECT_TRUE(fails(sample.run(), Reason::kNumericMismatch, "row 1"));
}

TEST(Compare, SubnormalsAreHeldToTheirSpacing) {
  Sample sample(DType::kF16, 4, 64);
  for (std::size_t i = 0; i < sample.exact.size(); ++i) {
    sample.exact[i] *= 0x1p-22;
    sample.set(static_cast<std::int64_t>(i), sample.exact[i]);
  }
  EXPECT_TRUE(passes(sample.run()));
  for (std::size_t i = 0; i < sample.exact.size(); ++i)
    sample.set(static_cast<std::int64_t>(i), 0);  // flushed
  EXPECT_FALSE(passes(sample.run()));
}

TEST(Compare, SensitivityExcusesCancellationOnly) {
  Sample sample(DType::kF32, 1, 1);
  sample.exact[0] = 1e-7;
  sample.set(0, 1.05e-7);
  EXPECT_FALSE(passes(sample.run()));
  const std::vector<double> sensitivity{3e-8};
  Expectation e;
  e.exact = sample.exact;
  e.sensitivity = sensitivity;
  EXPECT_TRUE(passes(compare("y", sample.view, e, gates_for(sample.traits()))));
  sample.set(0, 9e-7);
  EXPECT_FALSE(passes(compare("y", sample.view, e, gates_for(sample.traits()))));
}

TEST(Compare, ZerosThatCancelledAreHeldToTheirTerms) {
  Sample sample(DType::kF32, 2, 64);
  const std::vector<double> sensitivity(sample.exact.size(), 1.0);
  Expectation e;
  for (std::size_t i = 0; i < sample.exact.size(); ++i) {
    sample.exact[i] = 0;
    sample.set(static_cast<std::int64_t>(i), i % 2 == 0 ? 2 : -3);
  }
  e.exact = sample.exact;
  EXPECT_FALSE(passes(sample.run()));
  e.sensitivity = sensitivity;
  EXPECT_TRUE(passes(compare("dx", sample.view, e, gates_for(sample.traits()))));
  for (std::size_t i = 0; i < sample.exact.size(); ++i)
    sample.set(static_cast<std::int64_t>(i), 30);
  EXPECT_TRUE(fails(compare("dx", sample.view, e, gates_for(sample.traits())),
                    Reason::kNumericMismatch, "whole tensor"));
}

TEST(Compare, TwoRoundingsAreJudgedFromBothSides) {
  Sample sample(DType::kBF16, 64, 256);
  std::vector<double> steps(sample.exact.size());
  const std::vector<double> factor = noise(256, 7);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i] = round_to(DType::kBF16, round_to(DType::kBF16, sample.exact[i]) * factor[i % 256]);
    sample.exact[i] *= factor[i % 256];
  }
  OutputTraits traits = sample.traits();
  traits.tolerance = ToleranceClass::kTwoRoundings;
  for (std::size_t i = 0; i < steps.size(); ++i) sample.set(static_cast<std::int64_t>(i), steps[i]);
  EXPECT_TRUE(passes(sample.run(gates_for(traits), steps)));
  for (std::size_t i = 0; i < steps.size(); ++i)
    sample.set(static_cast<std::int64_t>(i), sample.exact[i]);
  EXPECT_TRUE(fails(sample.run(gates_for(traits), steps), Reason::kNumericMismatch, "stepwise"));
}

TEST(Compare, WholeNumbersAreExact) {
  std::vector<std::int32_t> memory{1, 2, 3};
  const std::vector<double> exact{1, 2, 3};
  const TensorView view(memory.data(), DType::kI32, {3});
  OutputTraits traits;
  traits.dtype = DType::kI32;
  Expectation e;
  e.exact = exact;
  EXPECT_TRUE(passes(compare("ids", view, e, gates_for(traits))));
  memory[2] = 4;
  EXPECT_TRUE(fails(compare("ids", view, e, gates_for(traits)), Reason::kNumericMismatch,
                    "index 2: 4 instead of 3"));
}

TEST(Compare, MovementIsBitwise) {
  const std::vector<std::byte> a{std::byte{0}, std::byte{0x80}, std::byte{1}, std::byte{2}};
  std::vector<std::byte> b = a;
  EXPECT_TRUE(compare_bytes("y", a, b, 2).empty());
  b[1] = std::byte{0};  // -0 became +0
  ASSERT_EQ(compare_bytes("y", b, a, 2).size(), 1U);
  EXPECT_EQ(compare_bytes("y", b, a, 2)[0].message,
            "1 of 2 elements differ in their bits; the first at index 0");
}

TEST(Compare, SizesMustAgree) {
  const Sample sample(DType::kF32, 2, 8);
  Expectation e;
  const std::vector<double> wrong(15);
  e.exact = wrong;
  EXPECT_THROW(compare("y", sample.view, e, gates_for(sample.traits())), Error);
}

TEST(Compare, TrustMeasuresWrongOutputsInThresholds) {
  const Sample sample(DType::kBF16, 16, 64);
  const Gates gates = gates_for(sample.traits());
  const std::vector<double> zeros(sample.exact.size(), 0.0), degenerate(sample.exact.size(), 0.0);
  EXPECT_NEAR(trust_of(zeros, sample.exact, gates), 1 / (1.08 * 1.66e-3), 1);
  EXPECT_EQ(trust_of(zeros, degenerate, gates), 0);
}

TEST(Gates, FollowFromClassTypeAndWidth) {
  OutputTraits t;
  t.dtype = DType::kBF16;
  t.width = 4096;
  EXPECT_DOUBLE_EQ(gates_for(t).row_c, 1.25);
  EXPECT_DOUBLE_EQ(gates_for(t).tensor_c, 1.08);
  EXPECT_EQ(gates_for(t).ulps, 1);
  EXPECT_TRUE(gates_for(t).bias);
  t.gradient = true;
  EXPECT_DOUBLE_EQ(gates_for(t).row_c, 1.5);
  t.summed_rows = 100;
  EXPECT_DOUBLE_EQ(gates_for(t).row_c, 2.0);
  t.dtype = DType::kF32;
  EXPECT_DOUBLE_EQ(gates_for(t).row_c, 14);
  t.summed_rows = 1;
  EXPECT_DOUBLE_EQ(gates_for(t).row_c, 8);
  EXPECT_FALSE(gates_for(t).bias);
  t.tolerance = ToleranceClass::kMovement;
  EXPECT_TRUE(gates_for(t).bitwise);
  t.tolerance = ToleranceClass::kLinear;
  EXPECT_FALSE(gates_for(t).bitwise_value);
  t.exact_inputs = true;
  EXPECT_TRUE(gates_for(t).bitwise_value);
}

}  // namespace
}  // namespace kw::suite
