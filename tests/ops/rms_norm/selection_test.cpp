// SPDX-License-Identifier: Apache-2.0
// rms_norm through catalog, context and slot: what a model author meets.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernelwright/backend/cpu/cpu_device.hpp"
#include "kernelwright/core/explain.hpp"
#include "kernelwright/core/slot.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/ops/rms_norm/contract.hpp"
#include "support/expect_error.hpp"

namespace kw::ops::rms_norm {
namespace {

class RmsNorm : public ::testing::Test {
 protected:
  RmsNorm() { add_builtin_operations(catalog_); }

  Settings choose(const std::string& value, const std::string& operation = "rms_norm") {
    Settings settings;
    settings.set(catalog_, operation, parse_targets(value), Source::kExplicit, "test");
    return settings;
  }

  // y of one row of ones through `implementation`.
  std::vector<float> run(const std::string& implementation, const char* variant,
                         std::vector<float> x, std::vector<float> weight) {
    Context context(catalog_, choose(implementation), device_);
    OpSlot slot("rms_norm", variant);
    SlotSet slots{&slot};
    context.bind(slots);
    std::vector<float> y(x.size(), std::numeric_limits<float>::quiet_NaN());
    const auto columns = static_cast<std::int64_t>(x.size());
    Args args{.x = {x.data(), DType::kF32, {1, columns}},
              .weight = {},
              .y = {y.data(), DType::kF32, {1, columns}},
              .rstd = {},
              .eps = 0};
    if (!weight.empty()) args.weight = {weight.data(), DType::kF32, {columns}};
    slot(args);
    return y;
  }

  Catalog catalog_;
  runtime::CpuDevice device_;
};

TEST_F(RmsNorm, VariantsApplyTheirWeightRule) {
  const float r = 1 / std::sqrt(12.5F);  // mean of 9 and 16
  for (const char* implementation : {"native", "reference"}) {
    for (const char* variant : {"standard", "fp32"}) {
      const auto y = run(implementation, variant, {3, 4}, {2, 3});
      EXPECT_NEAR(y[0], 3 * r * 2, 1e-6) << implementation << " " << variant;
      EXPECT_NEAR(y[1], 4 * r * 3, 1e-6) << implementation << " " << variant;
    }
    EXPECT_NEAR(run(implementation, "qwen3_5", {3, 4}, {2, 3})[0], 3 * r * 3, 1e-6)
        << implementation;
    EXPECT_NEAR(run(implementation, "unweighted", {3, 4}, {})[1], 4 * r, 1e-6) << implementation;
  }
}

// A zero-initialised weight means "identity" in qwen3_5 and "all zero" in standard: the mistake
// that variants exist to prevent.
TEST_F(RmsNorm, ZeroWeightTellsVariantsApart) {
  EXPECT_EQ(run("native", "standard", {3, 4}, {0, 0})[0], 0);
  EXPECT_GT(run("native", "qwen3_5", {3, 4}, {0, 0})[0], 0.8F);
}

TEST_F(RmsNorm, AutoSelectsNativeAndEveryOtherCandidateHasAReason) {
  Context context(catalog_, Settings{}, device_);
  const Explanation explanation = explain(context, "rms_norm", "qwen3_5");
  EXPECT_EQ(explanation.selected, "cpu.native.rms_norm");
  EXPECT_GE(explanation.verdicts.size(), 2U);
  for (const Verdict& verdict : explanation.verdicts)
    EXPECT_FALSE(verdict.reason.empty()) << verdict.implementation;
}

TEST_F(RmsNorm, PlansAreSharedByProblemsOfOneSpecialization) {
  Context context(catalog_, Settings{}, device_);
  context.prepare(parse_problem("rms_norm/standard x=bf16[?,7168] weight=bf16[7168]", catalog_));
  context.prepare(parse_problem("rms_norm/standard x=bf16[4,7168] weight=bf16[7168]", catalog_));
  context.prepare(parse_problem("rms_norm/standard x=bf16[4,128] weight=bf16[128]", catalog_));
  EXPECT_EQ(context.counters().plans_built, 1U);
  context.prepare(parse_problem("rms_norm/standard x=f16[4,128] weight=f16[128]", catalog_));
  EXPECT_EQ(context.counters().plans_built, 2U);
}

TEST_F(RmsNorm, PinsChooseTheInstructionSet) {
  Context context(catalog_, Settings{}, device_);
  const Problem problem = parse_problem("rms_norm/standard x=f32[4,128] weight=f32[128]", catalog_);
  context.prepare(problem, {{"isa", "avx2"}});
  test::expect_error(Code::kNotFound, {"value of 'isa'", "avx2, avx512"}, [&] {
    context.prepare(problem, {{"isa", "neon"}});
  });
  test::expect_error(Code::kNotFound, {"unknown field 'thread'", "threads"}, [&] {
    context.prepare(problem, {{"thread", "1"}});
  });
  test::expect_error(Code::kInvalidArgument, {"variant", "follow from the problem"}, [&] {
    context.prepare(problem, {{"variant", "fp32"}});
  });
}

TEST_F(RmsNorm, NativeLeavesDoublePrecisionToTheReference) {
  Context context(catalog_, choose("native"), device_);
  const Problem problem = parse_problem("rms_norm/standard x=f64[4,128] weight=f64[128]", catalog_);
  test::expect_error(Code::kUnsupported,
                     {"cpu.native.rms_norm", "f64", "Would accept: cpu.reference.rms_norm"},
                     [&] { context.prepare(problem); });
}

TEST_F(RmsNorm, MismatchedArgumentsNameParameterAndNeed) {
  const auto reject = [&](const char* text, std::initializer_list<std::string_view> words) {
    test::expect_error(Code::kInvalidArgument, words, [&] { parse_problem(text, catalog_); });
  };
  reject("rms_norm/standard x=bf16[4,4096] weight=bf16[2048]",
         {"'weight'", "2048", "4096", "x[1]"});
  reject("rms_norm/standard x=bf16[4,4096] weight=f16[4096]",
         {"'weight' is f16", "bf16 or f32", "T = bf16 from x"});
  reject("rms_norm/standard x=bf16[4,4096]", {"'weight' is missing"});
  reject("rms_norm/unweighted x=bf16[4,4096] weight=bf16[4096]",
         {"'weight' is given", "standard, fp32, qwen3_5"});
  reject("rms_norm/standard x=bf16[4,0] weight=bf16[0]", {"C = 0", "1 to 262144"});
  reject("rms_norm/standard x=bf16[4,64] weight=bf16[64] eps=-1", {"'eps' is -1", "0 to 1"});
  reject("rms_norm/standard x=i32[4,64] weight=bf16[64]", {"'x' is i32", "bf16"});
  reject("rms_norm_backward/fp32 dy=bf16[4,64] x=bf16[5,64] weight=bf16[64] want_dx=true",
         {"leading dimensions", "[4]", "[5]"});
  reject("rms_norm_backward/fp32 dy=bf16[4,64] x=bf16[4,64] weight=bf16[64]",
         {"nothing would be written", "dx (want_dx=true)", "dweight (want_dweight=true)"});
  reject("rms_norm_backward/unweighted dy=bf16[4,64] x=bf16[4,64] want_dx=false",
         {"nothing would be written", "one of: dx (want_dx=true)"});
}

TEST_F(RmsNorm, SlotReportsBadCallsBeforeAnyWork) {
  Context context(catalog_, Settings{}, device_);
  OpSlot slot("rms_norm", "standard");
  SlotSet slots{&slot};
  context.bind(slots);
  std::vector<float> x(8, 1), weight(4, 1), y(8, -1);
  Args good{.x = {x.data(), DType::kF32, {2, 4}},
            .weight = {weight.data(), DType::kF32, {4}},
            .y = {y.data(), DType::kF32, {2, 4}},
            .rstd = {},
            .eps = 1e-6};

  Args overlapping = good;
  overlapping.y = {x.data() + 2, DType::kF32, {2, 4}};
  EXPECT_EQ(slot.try_call(overlapping).code, StatusCode::kInvalidArgument);
  EXPECT_NE(last_message().find("'y' shares memory with 'x'"), std::string::npos) << last_message();

  Args missing = good;
  missing.y = {};
  EXPECT_EQ(slot.try_call(missing).code, StatusCode::kInvalidArgument);
  EXPECT_NE(last_message().find("'y' is missing"), std::string::npos) << last_message();

  Args null = good;
  null.x.data = nullptr;
  EXPECT_EQ(slot.try_call(null).code, StatusCode::kInvalidArgument);
  EXPECT_NE(last_message().find("'x' has a shape but a null address"), std::string::npos)
      << last_message();

  Args range = good;
  EXPECT_TRUE(slot.try_call(good));
  range.eps = -1;  // same key as the good call
  EXPECT_EQ(slot.try_call(range).code, StatusCode::kInvalidArgument);
  EXPECT_NE(last_message().find("'eps' is -1"), std::string::npos) << last_message();

  Args shape = good;
  shape.y.sizes[0] = 1;
  EXPECT_EQ(slot.try_call(shape).code, StatusCode::kInvalidArgument);
  EXPECT_NE(last_message().find("output 'y' has shape [1, 4]; needed is [2, 4]"), std::string::npos)
      << last_message();
  EXPECT_EQ(x[0], 1);
}

TEST_F(RmsNorm, OneVariantImplementationIsRefusedForAnotherVariantsSlot) {
  Implementation partial = reference_forward();
  partial.info.name = "cpu.partial.rms_norm";
  partial.info.solution = "partial";
  partial.info.variants = {"standard"};
  catalog_.register_implementation("rms_norm", partial);
  Context context(catalog_, choose("partial"), device_);
  OpSlot standard("rms_norm", "standard"), qwen("rms_norm", "qwen3_5");
  SlotSet fits{&standard}, does_not{&qwen};
  EXPECT_EQ(context.bind(fits).slots[0].bound, "cpu.partial.rms_norm");
  test::expect_error(Code::kUnsupported,
                     {"rms_norm/qwen3_5", "'partial' was asked for",
                      "serves variant standard, not qwen3_5", "cpu.native.rms_norm"},
                     [&] { context.bind(does_not); });
  EXPECT_FALSE(qwen.bound());
}

TEST_F(RmsNorm, ImplementationForAbsentHardwareIsRefusedByName) {
  Implementation elsewhere = reference_forward();
  elsewhere.info.name = "cuda.elsewhere.rms_norm";
  elsewhere.info.solution = "elsewhere";
  elsewhere.info.device = DeviceKind::kCuda;
  elsewhere.info.min_capability = 90;
  catalog_.register_implementation("rms_norm", elsewhere);
  test::expect_error(
      Code::kUnsupported,
      {"'elsewhere' was asked for", "needs a cuda device", "Available here: cpu.native.rms_norm"},
      [&] { Context(catalog_, choose("elsewhere"), device_); });
}

TEST_F(RmsNorm, BackwardGradientsSatisfyTheEulerIdentity) {
  // y is invariant under scaling of x (eps = 0), so that x . dx = 0 in every row.
  Context context(catalog_, Settings{}, device_);
  OpSlot slot("rms_norm_backward", "qwen3_5");
  SlotSet slots{&slot};
  context.bind(slots);
  const std::int64_t rows = 5, columns = 37;
  std::vector<float> x, dy, weight, dx(static_cast<std::size_t>(rows * columns)),
      dweight(static_cast<std::size_t>(columns));
  for (int i = 0; i < rows * columns; ++i) {
    x.push_back(std::sin(static_cast<float>(i)));
    dy.push_back(std::cos(3 * static_cast<float>(i)));
  }
  for (int c = 0; c < columns; ++c) weight.push_back(0.1F * static_cast<float>(c % 5));
  slot(BackwardArgs{.dy = {dy.data(), DType::kF32, {rows, columns}},
                    .x = {x.data(), DType::kF32, {rows, columns}},
                    .weight = {weight.data(), DType::kF32, {columns}},
                    .rstd = {},
                    .dx = {dx.data(), DType::kF32, {rows, columns}},
                    .dweight = {dweight.data(), DType::kF32, {columns}},
                    .eps = 0});
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    double dot = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c)
      dot += static_cast<double>(x[row * 37 + c]) * dx[row * 37 + c];
    EXPECT_NEAR(dot, 0, 1e-5);
  }
}

}  // namespace
}  // namespace kw::ops::rms_norm
