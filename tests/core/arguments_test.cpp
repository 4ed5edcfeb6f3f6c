// SPDX-License-Identifier: Apache-2.0
// Reading and writing Args through the table, and what check_call says.
#include "kernelwright/core/arguments.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/support/blend.hpp"
#include "core/support/toy_operations.hpp"
#include "support/expect_error.hpp"

namespace kw {
namespace {

using test::expect_error;
using toy::BlendArgs;

float memory[4096];

BlendArgs good() {
  BlendArgs args;
  args.x = TensorView(memory, DType::kF32, {3, 8});
  args.y = TensorView(memory + 100, DType::kF32, {3, 8});
  args.G = 2;
  return args;
}

template <typename Args>
void rejects(std::initializer_list<std::string_view> words, const Args& args, int variant = 0) {
  expect_error(Code::kInvalidArgument, words,
               [&] { check_call(Args::contract(), variant, &args); });
}

template <typename Change>
void rejects_after(std::initializer_list<std::string_view> words, Change change) {
  BlendArgs args = good();
  change(args);
  rejects(words, args, 1);
}

TEST(CheckCall, NamesWhatIsWrong) {
  EXPECT_NO_THROW(check_call(BlendArgs::contract(), 1, std::make_unique<BlendArgs>(good()).get()));
  rejects_after({"blend/bare: 'eps' is 7; its range is 0 to 1"}, [](BlendArgs& a) { a.eps = 7; });
  rejects_after({"'eps' is nan"},
                [](BlendArgs& a) { a.eps = std::numeric_limits<double>::quiet_NaN(); });
  rejects_after({"'G' is 0; its range is 1 to 16"}, [](BlendArgs& a) { a.G = 0; });
  rejects_after({"'edge' is 9; its range is 0 to 2"},
                [](BlendArgs& a) { a.edge = static_cast<toy::Edge>(9); });
  rejects_after({"output 'y' is missing; the caller supplies every output: T|f32 [*, C]"},
                [](BlendArgs& a) { a.y = {}; });
  rejects_after({"'x' has a shape but a null address"}, [](BlendArgs& a) { a.x.data = nullptr; });
  rejects_after({"'y' has a shape but a null address"}, [](BlendArgs& a) { a.y.data = nullptr; });
  rejects_after({"'x' has the negative size -1"}, [](BlendArgs& a) { a.x.sizes[0] = -1; });
  rejects_after({"'y' shares memory with 'x'; give it memory of its own"},
                [](BlendArgs& a) { a.y.data = memory + 1; });
  rejects_after({"'low' shares memory with 'high'"},
                [](BlendArgs& a) { a.low = a.high = TensorView(memory + 200, DType::kF32, {3}); });
}

TEST(CheckCall, ZeroSizeNeedsNoAddress) {
  BlendArgs args = good();
  args.x = TensorView(nullptr, DType::kF32, {0, 8});
  args.y = TensorView(nullptr, DType::kF32, {0, 8});
  EXPECT_NO_THROW(check_call(BlendArgs::contract(), 1, &args));
}

TEST(CheckCall, ListsAndAliases) {
  std::vector<TensorView> parts{TensorView(memory, DType::kF32, {2, 4}),
                                TensorView(memory + 8, DType::kF32, {2, 4})};
  toy::SumListArgs sums;
  sums.parts = {parts.data(), 2};
  sums.total = TensorView(memory + 64, DType::kF32, {4});
  rejects({"sum_list/standard: output 'scaled' is missing", "T [*, C]"}, sums);
  std::vector<TensorView> scaled{TensorView(memory + 128, DType::kF32, {2, 4}),
                                 TensorView(memory + 132, DType::kF32, {2, 4})};
  sums.scaled = {scaled.data(), 2};
  rejects({"'scaled[0]' shares memory with 'scaled[1]'"}, sums);
  scaled[1] = parts[1];
  rejects({"'scaled[1]' shares memory with 'parts[1]'"}, sums);
  scaled[1].data = nullptr;
  rejects({"'scaled[1]' has a shape but a null address"}, sums);

  const TensorView x(memory, DType::kF32, {4, 4});
  EXPECT_NO_THROW(check_call(toy::ShiftArgs::contract(), 0,
                             std::make_unique<toy::ShiftArgs>(toy::ShiftArgs{x, x, 0}).get()));
  rejects({"'y' shares memory with 'x'", "it may only be the same tensor as 'x'"},
          toy::ShiftArgs{x, TensorView(memory + 4, DType::kF32, {4, 4}), 0});
  rejects({"'y' shares memory with 'x'"}, toy::ScaleArgs{x, x, 1});
  const TensorView cache(memory, DType::kF32, {3, 5});
  rejects({"push/standard: 'cache' shares memory with 'x'"},
          toy::PushArgs{TensorView(memory + 14, DType::kF32, {3}), cache,
                        TensorView(memory + 64, DType::kF32, {3})});
}

TEST(ProblemFromArgs, ReadsEveryField) {
  BlendArgs args = good();
  args.weight = TensorView(memory + 300, DType::kF32, {8});
  args.window = 5;
  args.gain = 0.5;
  args.flip = false;
  args.edge = toy::Edge::kZero;
  args.x.strides[0] = 16;
  Problem problem = problem_from_args(BlendArgs::contract(), 0, &args);
  check(problem);
  const int align = static_cast<int>(
      std::min<std::uintptr_t>(16, reinterpret_cast<std::uintptr_t>(memory + 300) &
                                       -reinterpret_cast<std::uintptr_t>(memory + 300)));
  EXPECT_EQ(problem.tensor("weight").align, align);
  EXPECT_EQ(problem.number("gain"), 0.5);
  EXPECT_EQ(problem.number("window"), 5);
  EXPECT_EQ(problem.number("edge"), 2);
  EXPECT_FALSE(problem.tensor("x").contiguous);
  EXPECT_FALSE(problem.has("label"));
  EXPECT_FALSE(problem.has("eps")) << "the default is not given";
}

TEST(ProblemFromArgs, ScalarOfAnotherVariantIsReported) {
  BlendArgs args = good();
  args.weight = TensorView(memory + 300, DType::kF32, {8});
  Problem problem = problem_from_args(BlendArgs::contract(), 1, &args);
  expect_error(Code::kInvalidArgument,
               {"'weight' is given, but this variant has no such parameter"},
               [&] { check(problem); });
}

TEST(Arguments, WritesWhatIsRead) {
  const Contract& contract = BlendArgs::contract();
  auto catalog = toy::make_full_catalog();
  const Problem problem = parse_problem(
      "blend/bare x=f32[3,8] eps=0.5 gain=2 window=100000 G=3 sharpness=8 flip=false edge=wrap",
      *catalog);
  Arguments arguments(contract);
  arguments.set_scalars(problem);
  arguments.set_tensor(contract.parameter("x"), TensorView(memory, DType::kF32, {3, 8}));
  arguments.set_tensor(contract.parameter("y"), TensorView(memory + 512, DType::kF32, {3, 8}));
  const auto& args = *static_cast<const BlendArgs*>(arguments.data());
  EXPECT_EQ(args.eps, 0.5);
  EXPECT_EQ(args.gain, 2.0);
  EXPECT_EQ(args.window, 100000);
  EXPECT_EQ(args.G, 3);
  EXPECT_EQ(args.edge, toy::Edge::kWrap);
  EXPECT_EQ(args.flip, false);
  EXPECT_EQ(args.x.sizes[0], 3);
  Problem again = problem_from_args(contract, 1, arguments.data());
  check(again);
  EXPECT_EQ(problem_text(again), problem_text(problem));
  expect_error(Code::kInternal, {"'x' is not a scalar"},
               [&] { arguments.set_number(contract.parameter("x"), 1); });
}

TEST(Arguments, ListsAreCopiedAndMayBeEmpty) {
  const Contract& contract = toy::SumListArgs::contract();
  Arguments arguments(contract);
  std::vector<TensorView> parts(3, TensorView(memory, DType::kF32, {2, 4}));
  arguments.set_list(contract.parameter("parts"), parts);
  arguments.set_list(contract.parameter("scaled"), {});
  parts.clear();
  const auto& args = *static_cast<const toy::SumListArgs*>(arguments.data());
  ASSERT_EQ(args.parts.size, 3);
  EXPECT_EQ(args.parts.data[2].sizes[1], 4);
  EXPECT_EQ(args.scaled.size, 0);
  EXPECT_NE(args.scaled.data, nullptr) << "present, with no elements";
}

}  // namespace
}  // namespace kw
