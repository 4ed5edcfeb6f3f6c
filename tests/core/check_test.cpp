// SPDX-License-Identifier: Apache-2.0
// Every rejection of check(), by its text, and what it fills in.
#include <gtest/gtest.h>

#include <cmath>

#include "core/support/blend.hpp"
#include "core/support/toy_operations.hpp"
#include "kernelwright/core/problem.hpp"
#include "support/expect_error.hpp"

namespace kw {
namespace {

using test::expect_error;

class CheckTest : public testing::Test {
 protected:
  Problem parse(const std::string& text) const { return parse_problem(text, *catalog); }
  void rejects(const std::string& text, std::initializer_list<std::string_view> words) const {
    SCOPED_TRACE(text);
    expect_error(Code::kInvalidArgument, words, [&] { parse(text); });
  }
  void accepts(const std::string& text) const { EXPECT_NO_THROW(parse(text)) << text; }

  std::unique_ptr<Catalog> catalog = toy::make_full_catalog();
};

const std::string kBare = "blend/bare G=2 x=bf16[3,8]";
const std::string kWeighted = "blend/weighted G=2 x=bf16[3,8] weight=bf16[8]";

TEST_F(CheckTest, AcceptsWhatTheTableAllows) {
  accepts(kBare);
  accepts(kWeighted);
  accepts("blend/weighted G=2 x=bf16[3,8] weight=f32[8]");
  accepts("blend/bare G=2 x=f16[8]");
  accepts("blend/bare G=2 x=f16[2,3,4,8] label=i64[2,3,4]");
  accepts(kBare + " table=f32[6,17]");
  accepts(kBare + " table=f32[0,17]");
  accepts("blend/bare G=2 x=bf16[0,8]");
  accepts(kBare + " y=f32[3,8]");
  accepts(kBare + " label=i32[3]:[0]");
}

TEST_F(CheckTest, DTypes) {
  rejects("blend/bare G=2 x=f64[3,8]", {"blend/bare:", "'x' is f64; needed is bf16 or f16 or f32"});
  rejects("blend/weighted G=2 x=bf16[3,8] weight=f16[8]",
          {"'weight' is f16; needed is bf16 or f32", "T = bf16 from x"});
  rejects(kBare + " label=f32[3]", {"'label' is f32; needed is i32 or i64"});
  rejects(kBare + " table=bf16[2,17]", {"'table' is bf16; needed is f32", "T = bf16 from x"});
  rejects(kBare + " y=f16[3,8]", {"output 'y' is f16; needed is bf16 or f32"});
  rejects("sum_list/standard parts=(f32[2,4];bf16[2,4])",
          {"'parts[1]' is bf16; needed is f32, as in parts[0]"});
}

TEST_F(CheckTest, ShapesAndSymbols) {
  rejects("blend/weighted G=2 x=bf16[3,8] weight=bf16[7]",
          {"'weight' has size 7 in dimension 0; needed is 8", "C = 8 from x[1]"});
  rejects("blend/weighted G=2 x=bf16[3,8] weight=bf16[1,8]",
          {"'weight' has shape [1, 8]; needed is [C]"});
  rejects("blend/bare G=2 x=bf16[]", {"'x' has shape []; needed is [*, C]"});
  rejects(kBare + " label=i32[4]", {"'label' has leading dimensions [4], but 'x' has [3]"});
  rejects(kBare + " label=i32[3,1]", {"'label' has leading dimensions [3, 1], but 'x' has [3]"});
  rejects(kBare + " table=f32[2,16]", {"'table' has size 16 in dimension 1; needed is 17"});
  rejects("push/standard x=f32[3] cache=f32[3,0]",
          {"'cache' has size 0 in dimension 1", "not of the form [S+1]"});
  rejects("push/standard x=f32[3] cache=f32[4,5]",
          {"'cache' has size 4 in dimension 0; needed is 3", "B = 3 from x[0]"});
  rejects("push/standard x=f32[3] cache=f32[3,100]",
          {"S = 99 (kept positions, from cache[1]) is outside 1 to 64"});
  rejects("blend/bare G=2 x=bf16[3,0]", {"C = 0 (columns, from x[1]) is outside 1 to 4096"});
  rejects("blend/bare G=2 x=bf16[3,5000]", {"C = 5000", "outside 1 to 4096"});
  rejects("blend/bare G=2 x=bf16[3,?]", {"'C' (columns) is static and may not be '?'", "x[1]"});
}

TEST_F(CheckTest, AProductGivesItsOpenSymbolAValue) {
  EXPECT_EQ(parse(kBare + " table=f32[6,17]").size("K"), 3);
  EXPECT_EQ(parse(kBare + " table=f32[?,17]").size("K"), kFreeDim);
  rejects(kBare + " table=f32[7,17]",
          {"'table' has size 7 in dimension 0", "not of the form [K*G] with 2*K"});
  rejects(kBare + " table=f32[2002,17]", {"K = 1001", "outside 0 to 1000"});
}

TEST_F(CheckTest, Presence) {
  rejects("blend/weighted G=2 x=bf16[3,8]", {"'weight' is missing; needed is W: T|f32 [C]"});
  rejects("blend/bare G=2", {"'x' is missing", "[*, C]"});
  rejects(kBare + " weight=bf16[8]",
          {"'weight' is given, but this variant has no such parameter", "belongs to weighted"});
  rejects("push/standard x=f32[3]", {"'cache' is missing; needed is T [B, S+1]"});
  rejects("sum_list/standard", {"'parts' is missing"});
  rejects("blend/bare x=bf16[3,8]", {"'G' is missing (groups of the table); its range is 1 to 16"});
}

TEST_F(CheckTest, Scalars) {
  rejects(kBare + " eps=2", {"'eps' is 2; its range is 0 to 1"});
  rejects(kBare + " eps=-1e-9", {"'eps' is -1e-09"});
  rejects(kBare + " eps=nan", {"'eps' is nan; its range is 0 to 1"});
  rejects(kBare + " gain=101", {"'gain' is 101; its range is -100 to 100"});
  rejects(kBare + " window=0", {"'window' is 0; its range is 1 to"});
  rejects("blend/bare G=17 x=bf16[3,8]", {"'G' is 17; its range is 1 to 16"});
  rejects("blend/bare G=-1 x=bf16[3,8] table=f32[2,17]", {"'G' is -1; its range is 1 to 16"});
  rejects("push/standard x=f32[3] cache=f32[3,5] times=9", {"'times' is 9; its range is 1 to 8"});
  Problem problem = parse(kBare);
  problem.value("edge") = {
      .tensor = {}, .list = {}, .list_present = false, .scalar_given = true, .number = 3};
  expect_error(Code::kInvalidArgument, {"'edge' is 3; its range is 0 to 2"},
               [&] { check(problem); });
}

TEST_F(CheckTest, Memory) {
  rejects(kBare + " y=bf16[3,8]:[0,1]",
          {"'y' has strides [0, 1] under which elements share memory"});
  rejects(kBare + " y=bf16[3,8]:[7,1]", {"'y' has strides [7, 1]"});
  rejects("push/standard x=f32[3] cache=f32[3,5]:[4,1]",
          {"'cache' has strides [4, 1]", "may not overlap itself"});
  rejects(kBare + " y=bf16[3,7]", {"output 'y' has shape [3, 7]; needed is [3, 8]"});
  rejects("blend/bare G=2 x=bf16[3000000000,3000000000,8]",
          {"'x' has shape", "more than 2^63 bytes"});
  rejects("blend/bare G=2 x=bf16[3,8]:[4611686018427387904,1]", {"more than 2^63 bytes"});
  rejects("blend/bare G=2 x=bf16[3,8]:[-9223372036854775808,1]", {"more than 2^63 bytes"});
  accepts("blend/bare G=2 x=bf16[3,8]:[0,0]");
  accepts("blend/bare G=2 x=bf16[3,8]:[-8,1]");
  Problem problem = parse(kBare);
  problem.value("x").tensor.align = 1;
  expect_error(Code::kInvalidArgument, {"'x' starts at an address aligned to 1; bf16 needs 2"},
               [&] { check(problem); });
  problem.value("x").tensor.align = 16;
  problem.value("x").tensor.sizes[0] = -3;
  expect_error(Code::kInvalidArgument, {"'x' has the negative size -3"}, [&] { check(problem); });
}

TEST_F(CheckTest, OutputsInfer) {
  const Problem problem = parse(kBare + " want_low=true needs_grad=true");
  EXPECT_EQ(problem.tensor("y").dtype, DType::kBF16);
  EXPECT_EQ(problem.tensor("y").rank, 2);
  EXPECT_EQ(problem.tensor("rstd").dtype, DType::kF32);
  EXPECT_EQ(problem.tensor("rstd").rank, 1);
  EXPECT_TRUE(problem.has("high")) << "a group is wanted together";
  const Problem sums = parse("sum_list/standard parts=f32[2,4]*3 want_peak=true");
  EXPECT_EQ(sums.value("scaled").list.size(), 3U);
  EXPECT_EQ(sums.tensor("total").sizes[0], 4);
  EXPECT_EQ(sums.tensor("peak").sizes[0], 9);
  EXPECT_EQ(sums.number("bias"), 0.25);
  EXPECT_EQ(sums.number("factor"), 2);
  EXPECT_EQ(parse("sum_list/standard parts=f32[2,4]*3 bias=7").number("bias"), 7);
}

TEST_F(CheckTest, ListsAndGroups) {
  rejects("sum_list/standard parts=f32[2,4]*3 scaled=f32[2,4]*2",
          {"output 'scaled' has 2 tensors, but 'parts' has 3"});
  rejects("sum_list/standard parts=f32[2,4]*2 scaled=(f32[2,4];f32[2,5])",
          {"output 'scaled[1]' has shape [2, 5]; needed is [2, 4]"});
  rejects("sum_list/standard parts=(f32[2,4];f32[3,4])",
          {"'parts[1]' has leading dimensions [3], but 'parts[0]' has [2]"});
  rejects("sum_list/standard parts=(f32[2,4];f32[2,5])",
          {"'parts[1]' has size 5", "C = 4 from parts[0][1]"});
  rejects("sum_list/standard parts=()", {"cannot be determined from the arguments given"});
  rejects(kBare + " low=f32[3]@8", {"output 'low' is given without 'high'", "group 'bounds'"});
  Problem problem = parse("sum_list/standard parts=f32[2,4]*3");
  problem.value("parts").list[1] = {};
  expect_error(Code::kInvalidArgument, {"'parts[1]' is absent; a list has no gaps"},
               [&] { check(problem); });
}

TEST_F(CheckTest, ConstrainSpeaksLast) {
  rejects(kBare + " window=4 flip=true",
          {"blend/bare: window and flip exclude each other; leave one out"});
  rejects("push/strict x=f32[3] cache=f32[3,4]", {"push/strict: S = 3 must be even"});
  accepts("push/strict x=f32[3] cache=f32[3,5]");
  accepts("push/standard x=f32[3] cache=f32[3,4]");
}

TEST_F(CheckTest, FreeDimensionsPassThrough) {
  const Problem problem = parse("blend/bare G=2 x=bf16[?,8] label=i32[?] want_low=true");
  EXPECT_TRUE(problem.has_free_dims());
  EXPECT_EQ(problem.rows(), kFreeDim);
  EXPECT_EQ(problem.size("C"), 8);
  EXPECT_EQ(problem.tensor("low").sizes[0], kFreeDim);
  EXPECT_EQ(problem_bytes(problem), 0);
}

TEST_F(CheckTest, IsIdempotent) {
  Problem problem = parse(kWeighted + " label=i32[3] table=f32[4,17] want_low=true");
  const std::string text = problem_text(problem);
  check(problem);
  check(problem);
  EXPECT_EQ(problem_text(problem), text);
}

}  // namespace
}  // namespace kw
