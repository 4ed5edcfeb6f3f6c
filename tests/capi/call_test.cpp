// SPDX-License-Identifier: Apache-2.0
// kw_bind, kw_call and kw_workspace on the CPU.
#include <array>
#include <cstring>
#include <limits>
#include <thread>

#include "capi/support/capi.hpp"
#include "capi/support/toys.hpp"
#include "kernelwright/core/slot.hpp"
#include "kernelwright/ops/rms_norm/contract.hpp"

namespace kw::test {
namespace {

class Calls : public testing::Test {
 protected:
  static void SetUpTestSuite() { initialize_with_toys(); }

  kw_binding* bind(const char* operation, const char* variant = nullptr) {
    kw_binding* binding = nullptr;
    EXPECT_EQ(kw_bind(operation, variant, "cpu", &binding), KW_OK) << kw_last_error();
    bindings_.push_back(binding);
    return binding;
  }
  ~Calls() override {
    for (kw_binding* binding : bindings_) kw_unbind(binding);
  }

 private:
  std::vector<kw_binding*> bindings_;
};

constexpr std::int64_t kRows = 5, kColumns = 24;
using Matrix = std::array<float, kRows * kColumns>;

Matrix numbers() {
  Matrix values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i % 13) * 0.25F - 1;
  }
  return values;
}

TEST_F(Calls, AnswerAsTheSlotDoes) {
  Matrix x = numbers(), by_slot{}, by_call{};
  std::array<float, kColumns> weight;
  weight.fill(1.5F);
  std::array<float, kRows> rstd{};

  OpSlot slot("rms_norm", "standard");
  SlotSet slots{&slot};
  Context::process_default()->bind(slots);
  slot(ops::rms_norm::Args{.x = {x.data(), DType::kF32, {kRows, kColumns}},
                           .weight = {weight.data(), DType::kF32, {kColumns}},
                           .y = {by_slot.data(), DType::kF32, {kRows, kColumns}},
                           .eps = 1e-5});

  Call call;
  call.tensor(x.data(), KW_F32, {kRows, kColumns})
      .tensor(weight.data(), KW_F32, {kColumns}, {1})
      .tensor(by_call.data(), KW_F32, {kRows, kColumns})
      .tensor(rstd.data(), KW_F32, {kRows})
      .scalar({KW_SCALAR_FLOAT, 1e-5, 0, nullptr});
  kw_binding* const binding = bind("rms_norm", "standard");
  for (int i = 0; i < 3; ++i) {  // a miss, then hits
    by_call = {};
    ASSERT_EQ(call.launch(binding), KW_OK) << kw_last_error();
    EXPECT_EQ(by_call, by_slot);
  }
  EXPECT_GT(rstd[0], 0);
}

TEST_F(Calls, PassListsAndDefaults) {
  std::array<float, 6> a{1, 2, 3, 4, 5, 6}, b{10, 20, 30, 40, 50, 60}, scaled_a{}, scaled_b{};
  std::array<float, 3> total{};
  const std::vector<std::int64_t> shape{2, 3};
  const auto view = [&](std::array<float, 6>& data) {
    return Call::view(data.data(), KW_F32, shape);
  };
  Call call;
  call.list({view(a), view(b)})
      .tensor(total.data(), KW_F32, {3})
      .list({view(scaled_a), view(scaled_b)})
      .absent()
      .scalar({KW_SCALAR_INT, 0, 3, nullptr})
      .scalar({KW_SCALAR_FLOAT, 0.0, 0, nullptr});
  kw_binding* const binding = bind("sum_list");
  ASSERT_EQ(call.launch(binding), KW_OK) << kw_last_error();
  EXPECT_EQ(scaled_b, (std::array<float, 6>{30, 60, 90, 120, 150, 180}));
  EXPECT_EQ(total, (std::array<float, 3>{55, 77, 99}));

  call.tensors[0].list = nullptr;
  expect_failure(call.launch(binding), KW_INVALID_ARGUMENT,
                 {"'parts' is a list of 2 tensors, and their address is null"});
  call.tensors[0].list_size = -1;
  expect_failure(call.launch(binding), KW_INVALID_ARGUMENT, {"negative list size -1"});
  call.tensors[0] = view(a);
  expect_failure(call.launch(binding), KW_INVALID_ARGUMENT, {"'parts' is one tensor", "a list"});
  kw_tensor nothing{};
  nothing.rank = KW_ABSENT;
  Call holed;
  holed.list({view(a), nothing})
      .tensor(total.data(), KW_F32, {3})
      .list({view(scaled_a), view(scaled_b)})
      .absent()
      .defaults(2);
  expect_failure(holed.launch(binding), KW_INVALID_ARGUMENT, {"'parts[1]' is absent"});
  holed.tensors[1].rank = KW_LIST;
  holed.tensors[0] = nothing;
  expect_failure(holed.launch(binding), KW_INVALID_ARGUMENT, {"'total' is a list"});
}

struct ScaleCall {
  std::array<float, 32> x{}, y{};
  Call call;

  ScaleCall() {
    x.fill(2);
    call.tensor(x.data(), KW_F32, {2, 16})
        .tensor(y.data(), KW_F32, {2, 16})
        .scalar({KW_SCALAR_FLOAT, 3, 0, nullptr});
  }
};

TEST_F(Calls, TakeTheCallersWorkspaceOrTheLibrarys) {
  kw_binding* const binding = bind("scale");
  ScaleCall scale;
  std::int64_t bytes = 0, zeroed = 0;
  const kw_arguments all = scale.call.get();
  ASSERT_EQ(kw_workspace(binding, all.tensors, 2, all.scalars, 1, &bytes, &zeroed), KW_OK)
      << kw_last_error();
  EXPECT_EQ(bytes, 192 + 4 * 16);
  EXPECT_EQ(zeroed, 192);
  alignas(64) std::array<std::byte, 512> memory{};

  ASSERT_EQ(scale.call.launch(binding, memory.data(), bytes), KW_OK) << kw_last_error();
  EXPECT_EQ(scale.y[0], 6);
  EXPECT_EQ(memory[192], std::byte{0x5A}) << "served by the caller's";
  EXPECT_EQ(memory[191], std::byte{0});

  scale.y.fill(0);
  expect_failure(scale.call.launch(binding, memory.data(), bytes - 1), KW_INVALID_ARGUMENT,
                 {"workspace of 256 bytes, the first 192 zero"});
  EXPECT_EQ(scale.y[0], 0) << "refused before it ran";
  expect_failure(scale.call.launch(binding, memory.data() + 8, 300), KW_INVALID_ARGUMENT,
                 {"not aligned to 64 bytes"});
  expect_failure(scale.call.launch(binding, nullptr, 300), KW_INVALID_ARGUMENT,
                 {"workspace of 300 bytes has a null address"});
  expect_failure(scale.call.launch(binding, memory.data(), -1), KW_INVALID_ARGUMENT,
                 {"workspace_bytes is -1"});

  memory.fill(std::byte{0});
  ASSERT_EQ(scale.call.launch(binding), KW_OK) << kw_last_error();
  EXPECT_EQ(scale.y[0], 6);
  EXPECT_EQ(memory[192], std::byte{0}) << "served by the library's";
}

TEST_F(Calls, WorkspaceIsToldWithoutOutputs) {
  kw_binding* const binding = bind("scale");
  ScaleCall scale;
  scale.call.tensors[0].data = nullptr;
  scale.call.tensors[1].rank = KW_ABSENT;
  std::int64_t bytes = 0, zeroed = 0;
  const kw_arguments all = scale.call.get();
  EXPECT_EQ(kw_workspace(binding, all.tensors, 2, all.scalars, 1, &bytes, &zeroed), KW_OK)
      << kw_last_error();
  EXPECT_EQ(bytes, 256);
  expect_failure(kw_workspace(binding, all.tensors, 2, all.scalars, 1, nullptr, &zeroed),
                 KW_INVALID_ARGUMENT, {"'bytes' is null"});
  expect_failure(kw_workspace(binding, all.tensors, 1, all.scalars, 1, &bytes, &zeroed),
                 KW_INVALID_ARGUMENT, {"1 tensors were given; its contract has 2: x, y"});
}

TEST_F(Calls, RefuseWhatCannotBeRead) {
  kw_binding* const binding = bind("scale");
  ScaleCall good;
  const auto refused = [&](auto change, std::initializer_list<std::string_view> words) {
    Call bad = good.call;
    change(bad);
    expect_failure(bad.launch(binding), KW_INVALID_ARGUMENT, words);
  };
  const std::int64_t negative[] = {2, -16}, huge[] = {std::int64_t{1} << 40, std::int64_t{1} << 40},
                     strides[] = {16, -1}, far[] = {std::int64_t{1} << 61, 1}, empty[] = {0, 16};
  refused([](Call& c) { c.tensors.pop_back(); }, {"scale: 1 tensors", "has 2: x, y"});
  refused([](Call& c) { c.scalars.clear(); }, {"0 scalars", "has 1: scale"});
  refused([](Call& c) { c.tensors[0].rank = 9; }, {"'x' has rank 9; it may be 0 to 8"});
  refused([](Call& c) { c.tensors[0].rank = -3; }, {"'x' has rank -3"});
  refused([](Call& c) { c.tensors[0].dtype = 10; }, {"'x' has dtype 10"});
  refused([](Call& c) { c.tensors[0].dtype = -1; }, {"'x' has dtype -1"});
  refused([](Call& c) { c.tensors[0].sizes = nullptr; },
          {"'x' has rank 2, and its sizes are null"});
  refused([&](Call& c) { c.tensors[0].sizes = negative; }, {"'x' has the negative size -16"});
  refused([&](Call& c) { c.tensors[0].sizes = huge; }, {"'x' has sizes or strides that no memory"});
  refused([&](Call& c) { c.tensors[0].strides = far; }, {"no memory holds"});
  refused([&](Call& c) { c.tensors[0].strides = strides; }, {"'x' has the negative stride -1"});
  refused([](Call& c) { c.tensors[0].data = nullptr; }, {"'x' has a shape but a null address"});
  refused([](Call& c) { c.tensors[1].rank = KW_ABSENT; }, {"output 'y' is missing"});
  refused([](Call& c) { c.tensors[1].data = c.tensors[0].data; }, {"'y' shares memory with 'x'"});
  refused([](Call& c) { c.tensors[0].dtype = KW_F16; }, {"'x' is f16"});
  refused([](Call& c) { c.scalars[0].kind = 7; }, {"'scale' has scalar kind 7"});
  refused([](Call& c) { c.scalars[0].kind = KW_SCALAR_TEXT; },
          {"'scale' is text; it takes a float or an int"});
  refused([](Call& c) { c.scalars[0].number = std::numeric_limits<double>::quiet_NaN(); },
          {"'scale' is not a number"});
  refused(
      [](Call& c) {
        c.scalars[0] = {KW_SCALAR_INT, 0, (std::int64_t{1} << 53) + 1, nullptr};
      },
      {"integers reach to 2^53"});
  const kw_arguments all = good.call.get();
  expect_failure(kw_call(binding, nullptr, 2, all.scalars, 1, nullptr, 0, nullptr),
                 KW_INVALID_ARGUMENT, {"'tensors' is null; there must be 2"});
  expect_failure(kw_call(binding, all.tensors, -1, all.scalars, 1, nullptr, 0, nullptr),
                 KW_INVALID_ARGUMENT, {"-1 tensors"});
  expect_failure(good.call.launch(binding, nullptr, 0, &good), KW_INVALID_ARGUMENT,
                 {"the CPU has no streams"});
  EXPECT_EQ(good.y[0], 0) << "nothing ran";

  Call nothing = good.call;
  for (kw_tensor& tensor : nothing.tensors) {
    tensor.sizes = empty;
    tensor.data = nullptr;
  }
  EXPECT_EQ(nothing.launch(binding), KW_OK) << kw_last_error();
}

TEST_F(Calls, ReadEveryKindOfScalar) {
  kw_binding* const binding = bind("blend", "bare");
  std::array<float, 8> x{}, y{};
  Call call;
  call.tensor(x.data(), KW_F32, {2, 4}).absent().absent().absent();
  call.tensor(y.data(), KW_F32, {2, 4}).absent().absent().absent();
  call.defaults(7);
  enum { kEps, kGain, kWindow, kG, kSharpness, kFlip, kEdge };
  call.scalars[kG] = {KW_SCALAR_INT, 0, 2, nullptr};
  call.scalars[kGain] = {KW_SCALAR_INT, 0, 2, nullptr};
  call.scalars[kWindow] = {KW_SCALAR_INT, 0, 7, nullptr};
  call.scalars[kFlip] = {KW_SCALAR_BOOL, 0, 0, nullptr};
  call.scalars[kEdge] = {KW_SCALAR_TEXT, 0, 0, "zero"};
  EXPECT_EQ(call.launch(binding), KW_OK) << kw_last_error();
  const auto refused = [&](int at, kw_scalar value, std::initializer_list<std::string_view> words) {
    Call bad = call;
    bad.scalars[static_cast<std::size_t>(at)] = value;
    expect_failure(bad.launch(binding), KW_INVALID_ARGUMENT, words);
  };
  refused(kEdge, {KW_SCALAR_TEXT, 0, 0, "zer"}, {"'edge'", "did you mean 'zero'?"});
  refused(kEdge, {KW_SCALAR_TEXT, 0, 0, nullptr}, {"'edge' is text, and its address is null"});
  refused(kEdge, {KW_SCALAR_INT, 0, 1, nullptr},
          {"'edge' is an int; it takes text: wrap, clamp, zero"});
  refused(kFlip, {KW_SCALAR_BOOL, 0, 2, nullptr}, {"'flip' is the bool 2"});
  refused(kFlip, {KW_SCALAR_BOOL, 0, 1, nullptr}, {"window and flip exclude each other"});
  refused(kWindow, {KW_SCALAR_FLOAT, 7, 0, nullptr}, {"'window' is a float; it takes an int"});
  refused(kEps, {KW_SCALAR_FLOAT, 2, 0, nullptr}, {"'eps' is 2; its range is 0 to 1"});
  refused(kG, {KW_SCALAR_DEFAULT, 0, 0, nullptr}, {"'G'"});
}

TEST_F(Calls, ErrorsBelongToTheirThread) {
  kw_binding* none = nullptr;
  expect_failure(kw_bind("nosuch", nullptr, nullptr, &none), KW_NOT_FOUND, {"'nosuch'"});
  std::thread([] { EXPECT_STREQ(kw_last_error(), ""); }).join();
  expect_failure(KW_NOT_FOUND, KW_NOT_FOUND, {"'nosuch'"});
}

TEST_F(Calls, BindSaysWhyItCannot) {
  kw_binding* binding = nullptr;
  expect_failure(kw_bind("scal", nullptr, nullptr, &binding), KW_NOT_FOUND,
                 {"unknown operation 'scal'", "did you mean 'scale'?"});
  expect_failure(kw_bind("blend", "bar", nullptr, &binding), KW_NOT_FOUND,
                 {"did you mean 'bare'?"});
  expect_failure(kw_bind("scale", nullptr, "gpu", &binding), KW_NOT_FOUND, {"'gpu'", "cpu, cuda"});
  expect_failure(kw_bind("scale", nullptr, "npu", &binding), KW_ENVIRONMENT, {"npu"});
  expect_failure(kw_bind("shift", nullptr, nullptr, &binding), KW_UNSUPPORTED,
                 {"shift/standard on cpu", "eager"});
  EXPECT_EQ(binding, nullptr);
}

}  // namespace
}  // namespace kw::test
