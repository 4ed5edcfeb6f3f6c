// SPDX-License-Identifier: Apache-2.0
// A pattern matches a call iff inspect_call accepts it under the key of the pattern's own.
#include "kernelwright/core/call_pattern.hpp"

#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "core/support/blend.hpp"
#include "core/support/toy_operations.hpp"
#include "kernelwright/core/arguments.hpp"

namespace kw {
namespace {

using toy::at;
using toy::BlendArgs;
using toy::small_blend;

struct Looked {
  CallCheck check;
  Key key;
};
template <typename Args>
Looked look_at(const Args& args, int device = 0) {
  Looked looked{};
  looked.check = inspect_call(Args::contract(), &args, device, looked.key);
  return looked;
}

TEST(CallPattern, MatchesItsOwnCallOnItsDevice) {
  const BlendArgs args = small_blend();
  const CallPattern pattern(BlendArgs::contract(), &args, 1);
  EXPECT_TRUE(pattern.usable());
  EXPECT_TRUE(pattern.matches(&args, 1));
  EXPECT_FALSE(pattern.matches(&args, 0));
  EXPECT_FALSE(CallPattern().usable());
  EXPECT_FALSE(CallPattern().matches(&args, -1));
}

TEST(CallPattern, LeavesToTheKeyWhatItDoesNotHold) {
  BlendArgs args = small_blend();
  args.x.sizes[0] = args.y.sizes[0] = 0;
  EXPECT_FALSE(CallPattern(BlendArgs::contract(), &args, 0).usable()) << "no elements";
  args = small_blend();
  args.weight.data = nullptr;
  EXPECT_FALSE(CallPattern(BlendArgs::contract(), &args, 0).usable()) << "null";
  toy::SumListArgs list;
  EXPECT_FALSE(CallPattern(toy::SumListArgs::contract(), &list, 0).usable()) << "a list";
}

TEST(CallPattern, LooksAtWhatAKeyDoesNotCover) {
  const BlendArgs args = small_blend();
  const CallPattern pattern(BlendArgs::contract(), &args, 0);
  const auto matches = [&](auto mutate) {
    BlendArgs other = small_blend();
    mutate(other);
    EXPECT_EQ(pattern.matches(&other, 0), look_at(other).check == CallCheck::kOk);
    return pattern.matches(&other, 0);
  };
  EXPECT_TRUE(matches([](BlendArgs& a) { a.y.data = at(48); })) << "adjacent";
  EXPECT_FALSE(matches([](BlendArgs& a) { a.y.data = at(32); })) << "overlaps the end of x";
  EXPECT_FALSE(matches([](BlendArgs& a) { a.x.data = at(0x2000 - 32); })) << "and the other way";
  EXPECT_FALSE(matches([](BlendArgs& a) { a.weight.data = a.y.data; }));
  EXPECT_FALSE(matches([](BlendArgs& a) { a.eps = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_FALSE(matches([](BlendArgs& a) { a.eps = -1; }));
  EXPECT_TRUE(matches([](BlendArgs& a) { a.eps = 0.5; }));
}

// Columns of one buffer: ranges interleave, elements do not.
TEST(CallPattern, PitchedNeighboursMayBeWritten) {
  BlendArgs args = small_blend();
  args.x.strides[0] = args.y.strides[0] = 32;
  args.y.data = at(32);
  ASSERT_EQ(look_at(args).check, CallCheck::kOk);
  const CallPattern pattern(BlendArgs::contract(), &args, 0);
  EXPECT_TRUE(pattern.matches(&args, 0));
  args.y.data = at(16);  // the columns 8 to 15 of the same rows: still apart
  EXPECT_TRUE(pattern.matches(&args, 0));
  args.y.data = at(8);  // a column in common
  args.x.data = at(0);
  EXPECT_FALSE(CallPattern(BlendArgs::contract(), &args, 0).matches(&args, 0));
  args.y.data = at(0);
  EXPECT_FALSE(pattern.matches(&args, 0));
}

TEST(CallPattern, AnOutputMayTakeThePlaceOfTheInputThatItsContractNames) {
  toy::ShiftArgs args;
  args.x = TensorView(at(0), DType::kF32, {4, 8});
  args.y = args.x;
  ASSERT_EQ(look_at(args).check, CallCheck::kOk);
  const CallPattern in_place(toy::ShiftArgs::contract(), &args, 0);
  EXPECT_TRUE(in_place.matches(&args, 0));
  args.y.data = at(128);  // adjacent
  EXPECT_TRUE(in_place.matches(&args, 0));
  args.y.data = at(64);  // shifted by two rows
  EXPECT_EQ(look_at(args).check, CallCheck::kUnsafe);
  EXPECT_FALSE(in_place.matches(&args, 0));
  args.x.data = at(64);
  EXPECT_TRUE(in_place.matches(&args, 0)) << "elsewhere, in place";
  args.y.sizes = {8, 4};  // the same memory, other indices
  args.y.strides = {4, 1};
  args.x.data = args.y.data;
  EXPECT_FALSE(CallPattern(toy::ShiftArgs::contract(), &args, 0).matches(&args, 0));
}

TEST(CallPattern, RowsMayRunBackwards) {
  BlendArgs args = small_blend();
  args.x.strides[0] = -8;  // 32 bytes before its address to 16 behind
  args.y.data = at(16);
  ASSERT_EQ(look_at(args).check, CallCheck::kOk);
  const CallPattern pattern(BlendArgs::contract(), &args, 0);
  EXPECT_TRUE(pattern.matches(&args, 0));
  args.y.data = at(-80);
  EXPECT_TRUE(pattern.matches(&args, 0)) << "ends where x begins";
  for (const std::int64_t inside : {-64, -32, 0}) {
    args.y.data = at(inside);
    EXPECT_EQ(look_at(args).check, CallCheck::kUnsafe) << inside;
    EXPECT_FALSE(pattern.matches(&args, 0)) << inside;
  }
}

TEST(CallPattern, AgreesWithTheKeyOnRandomCalls) {
  std::mt19937_64 random(7);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const auto tensor = [&](std::int64_t base, std::vector<std::int64_t> sizes) {
    void* data = at(base + (pick(0, 5) == 0 ? 1 << pick(1, 4) : 0) + 16 * pick(0, 2));
    TensorView view(data, pick(0, 5) == 0 ? DType::kF16 : DType::kBF16, sizes);
    if (pick(0, 3) == 0 && view.rank > 0) view.strides[0] += 2 * pick(0, 2);
    if (pick(0, 15) == 0) view.data = nullptr;
    return view;
  };
  const auto draw = [&] {
    BlendArgs args;
    const int columns = pick(2, 3);
    args.x = pick(0, 3) != 0 ? tensor(0, {pick(0, 2), columns}) : tensor(0, {columns});
    if (pick(0, 2) != 0) args.weight = tensor(0x1000, {pick(2, 3)});
    args.y = tensor(pick(0, 7) == 0 ? 0 : 0x2000, {pick(1, 2), columns});
    args.eps = pick(0, 19) == 0 ? -1 : 0.1 * pick(0, 3);
    args.G = pick(1, 2);
    if (pick(0, 3) == 0) args.window = pick(1, 2);
    if (pick(0, 3) == 0) args.gain = 0.5 * pick(0, 2);
    if (pick(0, 3) == 0) args.sharpness = pick(0, 1) == 0 ? 0.0 : -0.0;
    args.flip = pick(0, 3) == 0;
    return args;
  };
  int matched = 0, apart = 0, refused = 0;
  for (int i = 0; i < 4'000; ++i) {
    const BlendArgs first = draw();
    const Looked known = look_at(first);
    if (known.check != CallCheck::kOk) continue;
    const CallPattern pattern(BlendArgs::contract(), &first, 0);
    for (int k = 0; k < 50; ++k) {
      BlendArgs other = draw();
      if (k % 2 == 0) {  // one fact from elsewhere
        const BlendArgs drawn = other;
        other = first;
        switch (pick(0, 7)) {
          case 0:
            other.x = drawn.x;
            break;
          case 1:
            other.weight = drawn.weight;
            break;
          case 2:
            other.y = drawn.y;
            break;
          case 3:
            other.eps = drawn.eps;
            break;
          case 4:
            other.window = drawn.window;
            break;
          case 5:
            other.gain = drawn.gain;
            break;
          case 6:
            other.sharpness = drawn.sharpness;
            break;
          default:
            other.x.data = drawn.x.data;
        }
      }
      const Looked looked = look_at(other);
      const bool same = looked.check == CallCheck::kOk && looked.key == known.key;
      ASSERT_EQ(pattern.matches(&other, 0), same && pattern.usable()) << i << ' ' << k;
      (pattern.matches(&other, 0) ? matched : same ? refused : apart) += 1;
    }
  }
  EXPECT_GT(matched, 5'000);
  EXPECT_GT(apart, 5'000);
  EXPECT_GT(refused, 100);  // by patterns that are not usable
}

}  // namespace
}  // namespace kw
