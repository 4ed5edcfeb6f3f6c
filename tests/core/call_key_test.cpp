// SPDX-License-Identifier: Apache-2.0
// Equal keys iff equal problems, modulo dynamic scalars; and what the key does not cover.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "core/support/blend.hpp"
#include "core/support/toy_operations.hpp"
#include "kernelwright/core/arguments.hpp"

namespace kw {
namespace {

using toy::at;
using toy::BlendArgs;
using toy::small_blend;

TensorView strided(void* data, DType dtype, std::vector<std::int64_t> sizes,
                   std::vector<std::int64_t> strides) {
  return TensorView(data, dtype, sizes, strides);
}

Key key_of(const BlendArgs& args, int device = 0) {
  Key key;
  EXPECT_EQ(inspect_call(BlendArgs::contract(), &args, device, key), CallCheck::kOk);
  return key;
}

TEST(CallKey, EveryStaticFactChangesTheKey) {
  const Key base = key_of(small_blend());
  const auto changes = [&](const char* what, auto mutate) {
    BlendArgs args = small_blend();
    mutate(args);
    EXPECT_FALSE(key_of(args) == base) << what;
  };
  changes("dtype", [](BlendArgs& a) { a.x.dtype = DType::kF16; });
  changes("rows", [](BlendArgs& a) { a.x.sizes[0] = 2; });
  changes("columns", [](BlendArgs& a) { a.weight.sizes[0] = 7; });
  changes("rank", [](BlendArgs& a) { a.x = TensorView(at(0), DType::kBF16, {1, 3, 8}); });
  changes("outer stride", [](BlendArgs& a) { a.x.strides[0] = 16; });
  changes("inner stride", [](BlendArgs& a) { a.x.strides[1] = 2; });
  changes("zero stride", [](BlendArgs& a) { a.x.strides[0] = 0; });
  changes("wide size", [](BlendArgs& a) {
    a.x.sizes[0] = std::int64_t{1} << 33;
    a.x.strides[0] = 0;
  });
  changes("alignment 8", [](BlendArgs& a) { a.x.data = at(8); });
  changes("alignment 2", [](BlendArgs& a) { a.x.data = at(2); });
  changes("null", [](BlendArgs& a) { a.x.data = nullptr; });
  changes("absence", [](BlendArgs& a) { a.weight = {}; });
  changes("presence", [](BlendArgs& a) { a.rstd = TensorView(at(0x3000), DType::kF32, {3}); });
  changes("static float", [](BlendArgs& a) { a.sharpness = 0.25; });
  changes("bool", [](BlendArgs& a) { a.flip = true; });
  changes("enum", [](BlendArgs& a) { a.edge = toy::Edge::kZero; });
  changes("integer, as it may be a symbol", [](BlendArgs& a) { a.G = 3; });
  changes("optional integer", [](BlendArgs& a) { a.window = 1; });
  changes("presence of an optional dynamic scalar", [](BlendArgs& a) { a.gain = 0.125; });
  EXPECT_FALSE(key_of(small_blend(), 1) == base) << "device";
}

TEST(CallKey, DynamicFactsDoNot) {
  const Key base = key_of(small_blend());
  BlendArgs args = small_blend();
  args.eps = 0.5;
  args.x.data = at(0x100010);
  args.y.data = at(0x200000);
  EXPECT_TRUE(key_of(args) == base);
  EXPECT_EQ(key_of(args).hash(), base.hash());
  args.x.strides[0] = 8;  // says the same
  EXPECT_TRUE(key_of(args) == base);
  args.gain = 0.5;
  const Key with_gain = key_of(args);
  args.gain = 0.75;
  EXPECT_TRUE(key_of(args) == with_gain);
}

// Text is the other identity of a call. Both must cut the space of calls into the same classes: a
// key of two problems would launch the wrong plan, and two keys of one problem would only waste
// time.
TEST(CallKey, AgreesWithProblemTextOnRandomCalls) {
  std::mt19937_64 random(31);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const auto tensor = [&](std::int64_t base, std::vector<std::int64_t> sizes) {
    constexpr DType kTypes[] = {DType::kBF16, DType::kF16};
    void* data = at(base + (pick(0, 3) == 0 ? 1 << pick(1, 4) : 0) + 32 * pick(0, 1));
    TensorView view(data, kTypes[pick(0, 1)], sizes);
    if (pick(0, 3) == 0 && view.rank > 0) view.strides[0] += 2 * pick(0, 2);
    return view;
  };
  std::map<std::string, Key> by_text;
  std::map<std::string, std::string> by_key;
  for (int i = 0; i < 60'000; ++i) {
    BlendArgs args;
    const int columns = pick(2, 3);
    args.x = pick(0, 1) == 0 ? tensor(0, {pick(1, 2), columns}) : tensor(0, {columns});
    if (pick(0, 1) == 0) args.weight = tensor(0x1000, {pick(2, 3)});
    args.y = tensor(0x2000, {2, columns});
    args.eps = 0.1 * pick(0, 3);
    args.G = pick(1, 2);
    if (pick(0, 1) == 0) args.window = pick(1, 2);
    args.flip = pick(0, 1) == 0;
    args.edge = static_cast<toy::Edge>(pick(0, 2));
    const Key key = key_of(args);
    args.eps = 0.25;  // dynamic: out of the comparison
    Problem problem = problem_from_args(BlendArgs::contract(), 0, &args);
    // Shapes need not be legal here; y is printed as it is because nothing infers it.
    std::string text = problem_text(problem);
    const TensorSpec& y = problem.tensor("y");
    text += " | " + std::string(dtype_name(y.dtype)) + std::to_string(y.sizes[1]) + "@" +
            std::to_string(y.align) + std::to_string(y.strides[0]);
    const std::string bytes(reinterpret_cast<const char*>(key.bytes.data()), key.size);
    const auto [old_key, new_text] = by_text.try_emplace(text, key);
    ASSERT_TRUE(old_key->second == key) << text;
    const auto [old_text, new_key] = by_key.try_emplace(bytes, text);
    ASSERT_EQ(old_text->second, text);
    ASSERT_EQ(new_text, new_key);
  }
  EXPECT_GT(by_text.size(), 5000U);
}

struct ListCall {
  std::vector<TensorView> parts, scaled;
  toy::SumListArgs args;

  void add(std::vector<std::int64_t> sizes, std::int64_t skew = 0) {
    const std::int64_t slot = static_cast<std::int64_t>(parts.size());
    parts.emplace_back(at(slot * 0x1000 + skew), DType::kF32, sizes);
    scaled.emplace_back(at(0x1000000 + slot * 0x1000), DType::kF32, sizes);
  }
  CallCheck inspect(Key& key) {
    args.parts = {parts.data(), static_cast<std::int64_t>(parts.size())};
    args.scaled = {scaled.data(), static_cast<std::int64_t>(scaled.size())};
    args.total = TensorView(at(0x4000000), DType::kF32, {8});
    return inspect_call(toy::SumListArgs::contract(), &args, 0, key);
  }
};

TEST(CallKey, FortyEightEqualTensorsTakeTheRoomOfOne) {
  ListCall many, few;
  for (int i = 0; i < 48; ++i) many.add({4, 8});
  few.add({4, 8});
  Key long_key, short_key;
  EXPECT_EQ(many.inspect(long_key), CallCheck::kOk) << "footprints of two lists of 48 fit as well";
  EXPECT_EQ(few.inspect(short_key), CallCheck::kOk);
  EXPECT_EQ(long_key.size, short_key.size);
  EXPECT_FALSE(long_key == short_key) << "the length is part of it";
}

TEST(CallKey, RunsOfListsAreUnambiguous) {
  std::map<std::string, std::string> seen;
  for (int pattern = 0; pattern < 1 << 6; ++pattern) {
    for (int length = 1; length <= 6; ++length) {
      if (pattern >> length != 0) continue;
      ListCall call;
      std::string name = std::to_string(length) + ":";
      for (int i = 0; i < length; ++i) {
        const bool wide = (pattern >> i & 1) != 0;
        call.add({wide ? 5 : 4, 8});
        name += wide ? 'w' : 'n';
      }
      Key key;
      if (call.inspect(key) == CallCheck::kKeyTooLong) continue;
      const std::string bytes(reinterpret_cast<const char*>(key.bytes.data()), key.size);
      ASSERT_EQ(seen.try_emplace(bytes, name).first->second, name);
    }
  }
  EXPECT_GT(seen.size(), 60U);
}

TEST(CallKey, ManyDifferentTensorsAreTooLong) {
  ListCall call;
  for (int i = 0; i < 48; ++i) call.add({i + 1, 8});
  Key key;
  EXPECT_EQ(call.inspect(key), CallCheck::kKeyTooLong);
}

TEST(CallKey, ListsInsideOutAreDifferentFromAbsentOnes) {
  ListCall call;
  call.add({4, 8});
  Key present, absent, empty;
  EXPECT_EQ(call.inspect(present), CallCheck::kOk);
  call.args.parts = {};
  EXPECT_EQ(inspect_call(toy::SumListArgs::contract(), &call.args, 0, absent), CallCheck::kOk);
  call.args.parts = {call.parts.data(), 0};
  EXPECT_EQ(inspect_call(toy::SumListArgs::contract(), &call.args, 0, empty), CallCheck::kOk);
  EXPECT_FALSE(present == absent);
  EXPECT_FALSE(absent == empty);
}

TEST(CallKey, LooksAtDynamicScalarsEveryTime) {
  const auto check_of = [](auto mutate) {
    BlendArgs args = small_blend();
    mutate(args);
    Key key;
    return inspect_call(BlendArgs::contract(), &args, 0, key);
  };
  EXPECT_EQ(check_of([](BlendArgs& a) { a.eps = 2; }), CallCheck::kUnsafe);
  EXPECT_EQ(check_of([](BlendArgs& a) { a.eps = std::numeric_limits<double>::quiet_NaN(); }),
            CallCheck::kUnsafe);
  EXPECT_EQ(check_of([](BlendArgs& a) { a.gain = 1e3; }), CallCheck::kUnsafe);
  EXPECT_EQ(check_of([](BlendArgs& a) { a.edge = static_cast<toy::Edge>(9); }), CallCheck::kUnsafe);
  EXPECT_EQ(check_of([](BlendArgs& a) { a.G = 0; }), CallCheck::kUnsafe);
}

TEST(CallKey, LooksAtAddressesEveryTime) {
  const auto check_of = [](auto mutate) {
    BlendArgs args = small_blend();
    mutate(args);
    Key key;
    return inspect_call(BlendArgs::contract(), &args, 0, key);
  };
  EXPECT_EQ(check_of([](BlendArgs& a) { a.y.data = a.x.data; }), CallCheck::kUnsafe);
  EXPECT_EQ(check_of([](BlendArgs& a) { a.y.data = at(32); }), CallCheck::kUnsafe);
  EXPECT_EQ(check_of([](BlendArgs& a) { a.rstd = TensorView(at(0x2000 + 4), DType::kF32, {3}); }),
            CallCheck::kUnsafe);
  EXPECT_EQ(check_of([](BlendArgs& a) { a.weight.data = at(2); }), CallCheck::kOk)
      << "inputs may share";
  // Slices of one packed buffer.
  EXPECT_EQ(check_of([](BlendArgs& a) {
              a.x = strided(at(0x8000), DType::kBF16, {3, 8}, {16, 1});
              a.y = strided(at(0x8000 + 16), DType::kBF16, {3, 8}, {16, 1});
            }),
            CallCheck::kOk);
}

TEST(CallKey, InPlaceMeansTheSameTensor) {
  const Contract& contract = toy::ShiftArgs::contract();
  const auto check_of = [&](TensorView x, TensorView y) {
    const toy::ShiftArgs args{x, y, 0};
    Key key;
    return inspect_call(contract, &args, 0, key);
  };
  const TensorView x(at(0), DType::kF32, {4, 4});
  EXPECT_EQ(check_of(x, x), CallCheck::kOk);
  EXPECT_EQ(check_of(x, strided(at(0), DType::kF32, {4, 4}, {1, 4})), CallCheck::kUnsafe)
      << "transposed in place";
  EXPECT_EQ(check_of(strided(at(0), DType::kF32, {4, 4}, {8, 1}), x), CallCheck::kUnsafe)
      << "same base, other pitch";
  EXPECT_EQ(check_of(x, TensorView(at(16), DType::kF32, {4, 4})), CallCheck::kUnsafe);
  EXPECT_EQ(check_of(strided(at(0), DType::kF32, {1, 4}, {77, 1}),
                     TensorView(at(0), DType::kF32, {1, 4})),
            CallCheck::kOk);
}

}  // namespace
}  // namespace kw
