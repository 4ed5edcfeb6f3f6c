// SPDX-License-Identifier: Apache-2.0
// Plans of the C interface on the CPU.
#include <array>
#include <vector>

#include "capi/support/capi.hpp"
#include "capi/support/toys.hpp"

namespace kw::test {
namespace {

class Plans : public testing::Test {
 protected:
  static void SetUpTestSuite() { initialize_with_toys(); }

  kw_plan* create(const Json& request) {
    kw_plan* plan = nullptr;
    EXPECT_EQ(kw_plan_create(request.dump().c_str(), &plan), KW_OK) << kw_last_error();
    plans_.push_back(plan);
    return plan;
  }
  void destroy_all() {
    for (kw_plan* plan : plans_) kw_plan_destroy(plan);
    plans_.clear();
  }
  ~Plans() override { destroy_all(); }

 private:
  std::vector<kw_plan*> plans_;
};

// scale: y = 3 * x over [rows, 16].
struct Rows {
  explicit Rows(std::int64_t rows) : x(static_cast<std::size_t>(rows) * 16, 2.0F), y(x.size()) {
    call.tensor(x.data(), KW_F32, {rows, 16})
        .tensor(y.data(), KW_F32, {rows, 16})
        .scalar({KW_SCALAR_FLOAT, 3, 0, nullptr});
  }
  std::vector<float> x, y;
  Call call;
};

TEST_F(Plans, ServeEverySizeOfAFreeDimension) {
  kw_plan* const plan = create({{"problem", "scale/standard x=f32[?,16]"}, {"device", "cpu"}});
  for (const std::int64_t rows : {1, 7, 0, 7}) {
    Rows data(rows);
    ASSERT_EQ(data.call.launch(plan), KW_OK) << kw_last_error();
    EXPECT_EQ(data.y, std::vector<float>(data.y.size(), 6.0F)) << rows;
  }
}

TEST_F(Plans, RefuseACallThatTheyWereNotMadeFor) {
  kw_plan* const plan = create({{"problem", "scale/standard x=f32[?,16]"}});
  Rows data(2);
  const auto refused = [&](auto change, std::initializer_list<std::string_view> words) {
    Call bad = data.call;
    change(bad);
    expect_failure(bad.launch(plan), KW_INVALID_ARGUMENT, words);
  };
  const std::int64_t narrow[] = {2, 8}, pitched[] = {2, 8}, pitch[] = {16, 1};
  refused(
      [&](Call& c) {
        for (kw_tensor& tensor : c.tensors) tensor.sizes = narrow;
      },
      {"'x' has shape [2,8]", "made for [?,16]", "scale/standard x=f32[?,16]"});
  refused(
      [&](Call& c) {
        c.tensors[0].data = data.x.data() + 1;
        c.tensors[0].sizes = c.tensors[1].sizes = narrow;
      },
      {"'x' has shape"});
  refused([&](Call& c) { c.tensors[1].rank = KW_ABSENT; }, {"output 'y' is missing"});
  kw_plan* const small = create({{"problem", "scale/standard x=f32[?,8]"}});
  Call strided = data.call;
  for (kw_tensor& tensor : strided.tensors) {
    tensor.sizes = pitched;
    tensor.strides = pitch;
  }
  expect_failure(strided.launch(small), KW_INVALID_ARGUMENT, {"'x' is not contiguous"});
  Rows shifted(3);
  shifted.call.tensors[0].data = shifted.x.data() + 1;
  const std::int64_t one[] = {1, 16};
  for (kw_tensor& tensor : shifted.call.tensors) tensor.sizes = one;
  expect_failure(shifted.call.launch(plan), KW_INVALID_ARGUMENT,
                 {"'x' is aligned to 4 bytes", "made for 16 bytes"});
  EXPECT_EQ(data.y[0], 0) << "nothing ran";
}

TEST_F(Plans, AskForTheSameStaticScalars) {
  kw_plan* const plan =
      create({{"problem", "blend/bare x=f32[?,4] G=2 sharpness=0.25 flip=false edge=zero"}});
  alignas(16) std::array<float, 8> x{}, y{};  // as the plan is made for
  Call call;
  call.tensor(x.data(), KW_F32, {2, 4}).absent().absent().absent();
  call.tensor(y.data(), KW_F32, {2, 4}).absent().absent().absent();
  call.defaults(7);
  call.scalars[0] = {KW_SCALAR_FLOAT, 0.5, 0, nullptr};  // eps is dynamic
  call.scalars[3] = {KW_SCALAR_INT, 0, 2, nullptr};
  call.scalars[6] = {KW_SCALAR_TEXT, 0, 0, "zero"};
  expect_failure(call.launch(plan), KW_INVALID_ARGUMENT,
                 {"'sharpness' is the default", "made for 0.25"});
  call.scalars[4] = {KW_SCALAR_FLOAT, 0.25, 0, nullptr};
  EXPECT_EQ(call.launch(plan), KW_OK) << kw_last_error();
}

TEST_F(Plans, TakeWorkspaceAsCallsDo) {
  kw_plan* const plan = create({{"problem", "scale/standard x=f32[?,16]"}});
  Rows data(2);
  const kw_arguments all = data.call.get();
  std::int64_t bytes = 0, zeroed = 0;
  ASSERT_EQ(kw_plan_workspace(plan, all.tensors, 2, all.scalars, 1, &bytes, &zeroed), KW_OK);
  EXPECT_EQ(bytes, 256);
  EXPECT_EQ(zeroed, 192);
  alignas(64) std::array<std::byte, 256> memory{};
  expect_failure(data.call.launch(plan, memory.data(), 255), KW_INVALID_ARGUMENT,
                 {"workspace is too small", "256 bytes, the first 192 zero"});
  EXPECT_EQ(data.y[0], 0);
  ASSERT_EQ(data.call.launch(plan, memory.data(), 256), KW_OK) << kw_last_error();
  EXPECT_EQ(data.y[0], 6);
  EXPECT_EQ(memory[192], std::byte{0x5A});
}

TEST_F(Plans, LaunchSeveralOrNone) {
  kw_plan* const plan = create({{"problem", "scale/standard x=f32[?,16]"}});
  Rows first(1), second(4);
  std::vector<kw_arguments> calls{first.call.get(), second.call.get()};
  Rows wrong(1);
  wrong.call.tensors[0].dtype = KW_F16;
  calls.push_back(wrong.call.get());
  expect_failure(kw_plan_launch_multi(plan, calls.data(), 3, nullptr, 0, nullptr),
                 KW_INVALID_ARGUMENT, {"'x' is f16"});
  EXPECT_EQ(first.y[0], 0) << "all are checked before the first runs";
  ASSERT_EQ(kw_plan_launch_multi(plan, calls.data(), 2, nullptr, 0, nullptr), KW_OK);
  EXPECT_EQ(first.y[15], 6);
  EXPECT_EQ(second.y[63], 6);
  EXPECT_EQ(kw_plan_launch_multi(plan, nullptr, 0, nullptr, 0, nullptr), KW_OK);
  expect_failure(kw_plan_launch_multi(plan, nullptr, 1, nullptr, 0, nullptr), KW_INVALID_ARGUMENT,
                 {"'calls' is null"});
  expect_failure(kw_plan_launch_multi(plan, calls.data(), -1, nullptr, 0, nullptr),
                 KW_INVALID_ARGUMENT, {"num_calls is -1"});
}

TEST_F(Plans, TellEveryDecisionAndWhoLives) {
  char* text = nullptr;
  ASSERT_EQ(kw_registered_plans(&text), KW_OK);
  EXPECT_EQ(taken(text)["plans"].size(), 0U);
  const std::string problem = "rms_norm/standard x=f32[?,64] weight=f32[64]";
  kw_plan* const plan = create({{"problem", problem}});
  create({{"problem", "blend/bare x=f32[2,4] G=2"}, {"device", "cpu"}});
  ASSERT_EQ(kw_plan_info(plan, &text), KW_OK);
  const Json info = taken(text);
  EXPECT_EQ(info["problem"], problem);
  EXPECT_EQ(info["device"], "cpu");
  EXPECT_EQ(info["implementation"], "cpu.native.rms_norm");
  EXPECT_NE(info["specialization"].get<std::string>().find(".isa = "), std::string::npos);
  EXPECT_TRUE(info["facts"].is_object());
  ASSERT_EQ(kw_registered_plans(&text), KW_OK);
  const Json plans = taken(text)["plans"];
  ASSERT_EQ(plans.size(), 2U);
  EXPECT_EQ(plans[0]["problem"], problem);
  destroy_all();
  ASSERT_EQ(kw_registered_plans(&text), KW_OK);
  EXPECT_EQ(taken(text)["plans"].size(), 0U);
}

TEST_F(Plans, RequestsAreChecked) {
  kw_plan* plan = nullptr;
  const auto refused = [&](const char* request, int code,
                           std::initializer_list<std::string_view> words) {
    expect_failure(kw_plan_create(request, &plan), code, words);
    EXPECT_EQ(plan, nullptr);
  };
  refused("{}", KW_INVALID_ARGUMENT, {"'plan' needs the field 'problem'"});
  refused(R"({"problem": "scale/standard x=f32[{1,2},16]"})", KW_INVALID_ARGUMENT,
          {"stands for 2 problems"});
  refused(R"({"problem": "scale/standard x=f16[1,16]"})", KW_INVALID_ARGUMENT, {"'x' is f16"});
  refused(R"({"problm": ""})", KW_NOT_FOUND, {"did you mean 'problem'?"});
  refused(R"({"problem": "rms_norm/standard x=f32[?,64] weight=f32[64]", "cfg": {"isaa": "avx2"}})",
          KW_NOT_FOUND, {"isaa"});
}

}  // namespace
}  // namespace kw::test
