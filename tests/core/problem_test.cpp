// SPDX-License-Identifier: Apache-2.0
// The problem as a value: specs and views, queries, bytes and flops.
#include "kernelwright/core/problem.hpp"

#include <gtest/gtest.h>

#include "core/support/blend.hpp"
#include "core/support/toy_operations.hpp"
#include "support/expect_error.hpp"

namespace kw {
namespace {

using test::expect_error;

class ProblemTest : public testing::Test {
 protected:
  Problem parse(const std::string& text) const { return parse_problem(text, *catalog); }
  std::unique_ptr<Catalog> catalog = toy::make_full_catalog();
};

TEST_F(ProblemTest, SpecsAndViewsAreInverse) {
  alignas(16) float memory[64];
  const std::vector<std::int64_t> sizes{3, 4}, strides{8, 2};
  const TensorView pitched(memory + 1, DType::kF32, sizes, strides);
  const TensorSpec spec = spec_of(pitched);
  EXPECT_FALSE(spec.contiguous);
  EXPECT_EQ(spec.align, 4);
  const TensorView back = view_of(spec, memory + 1);
  EXPECT_EQ(back.strides, pitched.strides);
  EXPECT_EQ(spec_of(back), spec);
  EXPECT_EQ(spec_of(TensorView(memory, DType::kF32, {4})).align, 16);
  EXPECT_EQ(spec_of(TensorView(nullptr, DType::kF32, {0})).align, 16) << "nothing is aligned";
  EXPECT_FALSE(spec_of(TensorView()).present);
  EXPECT_FALSE(view_of(TensorSpec{}, memory).present());
}

TEST_F(ProblemTest, FreeDimensionsHaveNoLayout) {
  const Problem problem = parse("scale x=f32[?,64]");
  expect_error(Code::kInvalidArgument, {"free dimensions ('?')", "give every size"},
               [&] { view_of(problem.tensor("x"), nullptr); });
}

TEST_F(ProblemTest, Queries) {
  const Problem problem = parse("blend/weighted x=bf16[2,3,8] weight=f32[8] G=2");
  EXPECT_EQ(problem.label(), "blend/weighted");
  EXPECT_EQ(problem.rows(), 6);
  EXPECT_EQ(problem.size("C"), 8);
  EXPECT_EQ(problem.size("G"), 2);
  EXPECT_EQ(problem.dtype("T"), DType::kBF16);
  EXPECT_EQ(problem.dtype("W"), DType::kF32);
  EXPECT_EQ(problem.number("gain"), 0.125) << "computed from the shape";
  EXPECT_EQ(problem.number("eps"), 1e-6);
  EXPECT_EQ(parse("scale x=f32[8]").rows(), 1);
  expect_error(Code::kInternal, {"the size symbol 'K' is not bound"}, [&] { problem.size("K"); });
  expect_error(Code::kInternal, {"the dtype symbol 'U' is not bound"}, [&] { problem.dtype("U"); });
  expect_error(Code::kNotFound, {"unknown parameter 'wait'"}, [&] { problem.has("wait"); });
}

TEST_F(ProblemTest, BytesCountEveryTensorOnceAndStateTwice) {
  EXPECT_EQ(problem_bytes(parse("scale x=f32[4,8]")), 2 * 4 * 8 * 4);
  EXPECT_EQ(problem_bytes(parse("scale x=f32[4,8]:[0,1]")), (8 + 4 * 8) * 4)
      << "an expanded row is read once";
  EXPECT_EQ(problem_bytes(parse("push/standard x=f32[3] cache=f32[3,5]")), (3 + 2 * 15 + 3) * 4);
  EXPECT_EQ(problem_bytes(parse("sum_list/standard parts=f32[2,4]*3")), (2 * 3 * 8 + 4) * 4);
  EXPECT_EQ(problem_bytes(parse("scale x=f32[0,8]")), 0);
  EXPECT_EQ(problem_flops(parse("blend/bare x=f32[3,8] G=1")), 9);
  EXPECT_EQ(problem_flops(parse("scale x=f32[4,8]")), 0);
}

}  // namespace
}  // namespace kw
