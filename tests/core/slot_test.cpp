// SPDX-License-Identifier: Apache-2.0
// Slots: binding, the hot path, misses, capture, workspace, threads.
#include "kernelwright/core/slot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

#include "core/support/blend.hpp"
#include "core/support/test_port.hpp"
#include "core/support/toy_operations.hpp"
#include "kernelwright/core/binding.hpp"
#include "support/expect_error.hpp"
#include "support/fake_device.hpp"

namespace kw {
namespace {

using test::expect_error;

testing::AssertionResult mentions(const std::string& text,
                                  std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (text.find(word) == std::string::npos)
      return testing::AssertionFailure() << "no '" << word << "' in: " << text;
  }
  return testing::AssertionSuccess();
}

// y = scale * x over memory of its own.
struct ScaleCall {
  explicit ScaleCall(std::int64_t rows, std::int64_t columns = 64)
      : in(static_cast<std::size_t>(rows * columns)), out(in.size()) {
    std::iota(in.begin(), in.end(), 1.0F);
    args = {TensorView(in.data(), DType::kF32, {rows, columns}),
            TensorView(out.data(), DType::kF32, {rows, columns}), 3};
  }
  bool right() const {
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (out[i] != 3 * in[i]) return false;
    }
    return true;
  }
  std::vector<float> in, out;
  toy::ScaleArgs args;
};

class SlotTest : public testing::Test {
 protected:
  Context& make(const std::vector<std::pair<std::string, std::string>>& choices = {},
                bool prepare_on_miss = true) {
    Settings settings;
    settings.prepare_on_miss = prepare_on_miss;
    for (const auto& [operation, target] : choices)
      settings.set(*catalog, operation, {target}, Source::kExplicit, "test");
    context = std::make_unique<Context>(*catalog, settings, port);
    context->bind(slots);
    return *context;
  }
  ~SlotTest() override { slots.unbind(); }

  std::unique_ptr<Catalog> catalog = toy::make_full_catalog();
  toy::TestPort port;
  std::unique_ptr<Context> context;
  OpSlot scale{"scale", "standard"}, shift{"shift", "standard"}, blend{"blend", "bare"};
  SlotSet slots{&scale, &shift, &blend};
};

TEST_F(SlotTest, UnboundSlotsSaySo) {
  ScaleCall call(2);
  EXPECT_FALSE(scale.bound());
  EXPECT_EQ(scale.repr(), "OpSlot(scale/standard -> eager)");
  EXPECT_EQ(scale.try_call(call.args).code, StatusCode::kUnbound);
  expect_error(Code::kConflict,
               {"OpSlot(scale/standard -> eager) is not bound; guard the call with bound()"},
               [&] { scale(call.args); });
}

TEST_F(SlotTest, IsALiteral) {
  static constinit OpSlot literal("scale", "standard");
  EXPECT_EQ(literal.operation(), "scale");
}

TEST_F(SlotTest, BoundSlotsComputeAndUnbind) {
  make();
  EXPECT_TRUE(scale.bound());
  EXPECT_EQ(scale.repr(), "OpSlot(scale/standard -> cpu.narrow.scale)");
  ScaleCall call(3);
  scale(call.args);
  EXPECT_TRUE(call.right());
  slots.unbind();
  EXPECT_FALSE(scale.bound());
  EXPECT_EQ(scale.try_call(call.args).code, StatusCode::kUnbound);
}

TEST_F(SlotTest, WrongArgsTypeIsRefusedByName) {
  make();
  ScaleCall call(2);
  const toy::ShiftArgs args{call.args.x, call.args.y, 1};
  expect_error(Code::kInvalidArgument,
               {"OpSlot(scale/standard -> cpu.narrow.scale) was called with the Args of 'shift'"},
               [&] { scale(args); });
}

TEST_F(SlotTest, WrongCallsNameTheParameter) {
  make();
  ScaleCall call(2);
  const auto rejects = [&](std::initializer_list<std::string_view> words, auto change) {
    ScaleCall bad(2);
    change(bad.args);
    const Status status = scale.try_call(bad.args);
    EXPECT_EQ(status.code, StatusCode::kInvalidArgument);
    EXPECT_TRUE(mentions(last_message(), words));
    EXPECT_EQ(std::count(bad.out.begin(), bad.out.end(), 0.0F), 128) << "nothing ran";
  };
  for (int pass = 0; pass < 2; ++pass) {  // before and after an equal key was prepared
    rejects({"'y' is missing"}, [](toy::ScaleArgs& a) { a.y = {}; });
    rejects({"'x' is missing; needed is T: f32 [*, C]"}, [](toy::ScaleArgs& a) { a.x = {}; });
    rejects({"'x' has a shape but a null address"}, [](toy::ScaleArgs& a) { a.x.data = nullptr; });
    rejects({"'y' shares memory with 'x'"}, [](toy::ScaleArgs& a) { a.x.data = a.y.data; });
    rejects({"'x' is bf16; needed is f32"}, [](toy::ScaleArgs& a) { a.x.dtype = DType::kBF16; });
    rejects({"output 'y' has shape [1, 64]; needed is [2, 64]"},
            [](toy::ScaleArgs& a) { a.y.sizes[0] = 1; });
    rejects({"'scale' is inf; its range is"}, [](toy::ScaleArgs& a) { a.scale = INFINITY; });
    rejects({"'x' has the negative size -1"},
            [](toy::ScaleArgs& a) { a.x.sizes[0] = a.y.sizes[0] = -1; });
    rejects({"'y' has strides [0, 1] under which elements share memory"},
            [](toy::ScaleArgs& a) { a.y.strides[0] = 0; });
    rejects({"'x' starts at an address aligned to 1; f32 needs 4"}, [](toy::ScaleArgs& a) {
      a.x.data = static_cast<char*>(a.x.data) + 1;
      a.x.sizes[1] = a.y.sizes[1] = 63;
    });
    scale(call.args);
  }
}

TEST_F(SlotTest, RejectedProblemsListEveryCandidateAndWhoWouldAccept) {
  make({{"scale", "narrow"}});
  ScaleCall call(2, 100);
  expect_error(Code::kUnsupported,
               {"no implementation serves 'scale/standard x=f32[2,100]", "choice narrow from test",
                "cpu.narrow.scale: shape: C = 100 is above 64",
                "Would accept: cpu.plain.scale, cpu.scratch.scale, cpu.oracle.scale, when named"},
               [&] { scale(call.args); });
}

TEST_F(SlotTest, AHitAsksNobodyAndPreparesNothing) {
  Context& here = make();
  std::vector<ScaleCall> calls;
  for (const std::int64_t rows : {1, 2, 3, 4, 5}) calls.emplace_back(rows);
  const int before = toy::scale_prepares();
  for (ScaleCall& call : calls) scale(call.args);
  const Counters first = here.counters();
  EXPECT_EQ(first.misses, 5U);
  EXPECT_EQ(first.problems_prepared, 5U);
  EXPECT_EQ(first.plans_built, 1U) << "five problems share a specialization";
  EXPECT_EQ(toy::scale_prepares(), before + 1);
  port.capture_queries = 0;
  for (int i = 0; i < 20; ++i)
    scale(calls[static_cast<std::size_t>(i) % 5].args);  // five keys, four recent entries
  EXPECT_EQ(here.counters().misses, 5U);
  EXPECT_EQ(here.counters().problems_prepared, 5U);
  EXPECT_EQ(port.capture_queries, 0);
}

TEST_F(SlotTest, DynamicScalarsReachTheLaunch) {
  Context& here = make();
  ScaleCall call(2);
  for (const double factor : {3.0, 5.0, 7.0}) {
    call.args.scale = factor;
    scale(call.args);
    EXPECT_EQ(call.out[1], 2 * factor);
  }
  EXPECT_EQ(here.counters().misses, 1U);
}

TEST_F(SlotTest, FreeDimensionsPrepareEverySize) {
  Context& here = make({}, false);
  EXPECT_EQ(here.prepare(parse_problem("scale/standard x=f32[?,64]", *catalog)).info.name,
            "cpu.narrow.scale");
  EXPECT_EQ(here.counters().plans_built, 1U);
  for (const std::int64_t rows : {1, 7, 100}) {
    ScaleCall call(rows);
    scale(call.args);
    EXPECT_TRUE(call.right());
  }
  EXPECT_EQ(here.counters().plans_built, 1U);
  EXPECT_EQ(here.counters().not_prepared, 0U);
  ScaleCall wide(2, 100);  // another implementation, another plan
  expect_error(Code::kConflict,
               {"scale/standard: not prepared, and prepare_on_miss is off",
                "'scale/standard x=f32[2,100]", "Context::prepare"},
               [&] { scale(wide.args); });
  EXPECT_EQ(here.counters().not_prepared, 1U);
}

TEST_F(SlotTest, CapturingRefusesWhatIsNotPreparedAndSaysHow) {
  Context& here = make();
  ScaleCall call(2);
  port.capturing = true;
  const Status status = scale.try_call(call.args);
  EXPECT_EQ(status.code, StatusCode::kNotPrepared);
  EXPECT_TRUE(mentions(last_message(),
                       {"not prepared, and the stream is capturing", "'scale/standard x=f32[2,64]",
                        "to Context::prepare", "or make the call once outside capture"}));
  EXPECT_EQ(here.counters().not_prepared, 1U);
  EXPECT_EQ(here.counters().plans_built, 0U);
  port.capturing = false;
  scale(call.args);
  port.capturing = true;
  scale(call.args);
  ScaleCall other(9);  // a new problem of a prepared plan needs nothing that capture forbids
  scale(other.args);
  EXPECT_TRUE(other.right());
}

TEST_F(SlotTest, WorkspaceIsReservedOnceAndPerThread) {
  Context& here = make({{"scale", "scratch"}});
  ScaleCall call(2);
  scale(call.args);
  scale(call.args);
  EXPECT_EQ(port.reservations, 1);
  std::thread([&] {
    ScaleCall mine(2);
    scale(mine.args);
    scale(mine.args);
    EXPECT_TRUE(mine.right());
  }).join();
  EXPECT_EQ(port.reservations, 2);
  EXPECT_EQ(here.counters().misses, 1U) << "the key was known; only workspace was missing";
  EXPECT_EQ(here.counters().problems_prepared, 1U);
  std::vector<ScaleCall> more;
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 6}) more.emplace_back(rows);
  for (ScaleCall& each : more) scale(each.args);
  const int after = port.reservations;
  for (int i = 0; i < 3; ++i) {
    for (ScaleCall& each : more) scale(each.args);
  }
  EXPECT_EQ(port.reservations, after);
}

TEST_F(SlotTest, MissingWorkspaceDuringCaptureIsNotPrepared) {
  make({{"scale", "scratch"}});
  ScaleCall small(2), large(5000);
  scale(small.args);
  port.capturing = true;
  EXPECT_EQ(scale.try_call(large.args).code, StatusCode::kNotPrepared);
  EXPECT_TRUE(mentions(last_message(),
                       {"its plan exists, but this stream lacks 20064 bytes of workspace"}));
  port.capturing = false;
  context->prepare(parse_problem("scale/standard x=f32[5000,64]", *catalog));
  port.capturing = true;
  EXPECT_EQ(scale.try_call(large.args).code, StatusCode::kOk) << "what the message advised works";
}

TEST_F(SlotTest, PrepareReservesOnTheStreamThatIsGiven) {
  Context& here = make({{"scale", "scratch"}}, false);
  int handle = 0;
  ScaleCall call(2);
  here.prepare(parse_problem("scale/standard x=f32[2,64]", *catalog), {}, {&port, &handle});
  EXPECT_EQ(scale.try_call(call.args, {&port, &handle}).code, StatusCode::kOk);
  EXPECT_EQ(scale.try_call(call.args).code, StatusCode::kNotPrepared) << "another stream";
}

TEST_F(SlotTest, TooManyDifferentTensorsSaySplit) {
  OpSlot sums{"sum_list", "standard"};
  SlotSet set{&sums};
  make().bind(set);
  std::vector<std::vector<float>> memory;
  std::vector<TensorView> parts, scaled;
  for (int i = 0; i < 40; ++i) {
    for (auto* list : {&parts, &scaled}) {
      memory.emplace_back(static_cast<std::size_t>(8 * (i + 1)));
      list->emplace_back(memory.back().data(), DType::kF32,
                         std::initializer_list<std::int64_t>{i + 1, 8});
    }
  }
  float total[8];
  toy::SumListArgs args;
  args.parts = {parts.data(), 40};
  args.scaled = {scaled.data(), 40};
  args.total = TensorView(total, DType::kF32, {8});
  expect_error(Code::kUnsupported,
               {"sum_list/standard", "does not fit a key of 256 bytes; split the call"},
               [&] { sums(args); });
  set.unbind();
}

TEST_F(SlotTest, LongUniformListsTakeTheHotPath) {
  OpSlot sums{"sum_list", "standard"};
  SlotSet set{&sums};
  Context& here = make();
  here.bind(set);
  std::vector<float> memory(48 * 2 * 32, 1.0F);
  std::vector<TensorView> parts, scaled;
  for (int i = 0; i < 48; ++i) {
    parts.emplace_back(memory.data() + 64 * i, DType::kF32,
                       std::initializer_list<std::int64_t>{4, 8});
    scaled.emplace_back(memory.data() + 64 * i + 32, DType::kF32,
                        std::initializer_list<std::int64_t>{4, 8});
  }
  float total[8];
  toy::SumListArgs args;
  args.parts = {parts.data(), 48};
  args.scaled = {scaled.data(), 48};
  args.total = TensorView(total, DType::kF32, {8});
  sums(args);
  sums(args);
  EXPECT_EQ(total[3], 48 * 4);
  EXPECT_EQ(scaled[47].data == nullptr ? 0 : static_cast<float*>(scaled[47].data)[31], 2);
  EXPECT_EQ(here.counters().misses, 1U);
  scaled.pop_back();
  args.scaled = {scaled.data(), 47};
  expect_error(Code::kInvalidArgument, {"output 'scaled' has 47 tensors, but 'parts' has 48"},
               [&] { sums(args); });
  set.unbind();
}

TEST_F(SlotTest, ADeviceOfAnotherKindOrCapabilityIsRefused) {
  make();
  ScaleCall call(2);
  scale(call.args);
  test::FakeDevice cuda;
  toy::TestPort newer(1, 3);
  for (DevicePort* other : {static_cast<DevicePort*>(&cuda), static_cast<DevicePort*>(&newer)}) {
    EXPECT_EQ(scale.try_call(call.args, {other, nullptr}).code, StatusCode::kInvalidArgument);
    EXPECT_TRUE(mentions(last_message(), {"the stream belongs to",
                                          "was bound for cpu:0 (test cpu, capability 2 (avx2))"}));
  }
  toy::TestPort twin(1, 2);
  EXPECT_EQ(scale.try_call(call.args, {&twin, nullptr}).code, StatusCode::kOk)
      << "devices alike share a context";
  EXPECT_EQ(context->counters().plans_built, 2U) << "and have plans of their own";
}

// On the fake device: launches are all that a hit may cause.
class CudaSlotTest : public testing::Test {
 protected:
  CudaSlotTest() { context.bind(slots); }
  ~CudaSlotTest() override { slots.unbind(); }

  std::unique_ptr<Catalog> catalog = toy::make_catalog();
  test::FakeDevice device;
  Context context{*catalog, Settings{}, device};
  OpSlot scale{"scale", "standard"}, push{"push", "standard"};
  SlotSet slots{&scale, &push};
};

TEST_F(CudaSlotTest, AHitAsksTheDriverNothing) {
  float x[3] = {1, 2, 3}, cache[3 * 5] = {}, popped[3];
  const toy::PushArgs args{TensorView(x, DType::kF32, {3}), TensorView(cache, DType::kF32, {3, 5}),
                           TensorView(popped, DType::kF32, {3})};
  EXPECT_EQ(push.repr(), "OpSlot(push/standard -> cuda.fast.push)");
  push(args);
  device.reset_calls();
  for (int i = 0; i < 10; ++i) push(args);
  EXPECT_EQ(device.calls(), test::DriverCalls{});
}

TEST_F(CudaSlotTest, WorkspaceHitsAskTheDriverNothing) {
  ScaleCall call(4);
  scale(call.args);
  EXPECT_TRUE(call.right());
  device.reset_calls();
  scale(call.args);
  EXPECT_EQ(device.calls(), test::DriverCalls{});
}

TEST_F(CudaSlotTest, CaptureOnARealStream) {
  void* handle = device.create_stream();
  const Stream stream{&device, handle};
  ScaleCall call(4);
  device.begin_capture(handle);
  expect_error(Code::kConflict,
               {"scale/standard: not prepared, and the stream is capturing",
                "pass the problem 'scale/standard x=f32[4,64]", "Context::prepare"},
               [&] { scale(call.args, stream); });
  device.cancel_capture(handle);
  context.prepare(parse_problem("scale/standard x=f32[4,64]", *catalog), {}, stream);
  device.begin_capture(handle);
  scale(call.args, stream);
  EXPECT_NO_THROW(device.end_capture(handle)) << "nothing forbidden happened";
  device.destroy_stream(handle);
}

TEST_F(SlotTest, ManyThreadsWithNewProblems) {
  Context& here = make();
  constexpr int kThreads = 4, kRounds = 60;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        ScaleCall call(1 + (i * 7 + t) % 23, i % 3 == 0 ? 100 : 64);
        scale(call.args);
        if (!call.right()) ADD_FAILURE() << "thread " << t << " round " << i;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(here.counters().plans_built, 2U);
  EXPECT_LE(here.counters().problems_prepared, 46U);
  EXPECT_GE(here.counters().misses, here.counters().problems_prepared);
}

TEST_F(SlotTest, EndlessNewShapesAreForgottenAndStillServed) {
  constexpr auto kBound =
      static_cast<std::int64_t>(Binding::kStayingCalls + Binding::kPassingCalls);
  Context& here = make();
  const Binding& binding = here.binding("scale", "standard");
  const auto call_with = [&](std::int64_t rows) {
    ScaleCall call(rows, 1);
    scale(call.args);
    return call.right();
  };
  for (std::int64_t rows = 1; rows <= kBound; ++rows) ASSERT_TRUE(call_with(rows));
  EXPECT_EQ(binding.remembered_calls(), static_cast<std::size_t>(kBound));
  const auto misses = [&] { return static_cast<std::int64_t>(here.counters().misses); };
  EXPECT_TRUE(call_with(1) && call_with(kBound));
  EXPECT_EQ(misses(), kBound) << "all of them are known so far";
  EXPECT_TRUE(call_with(kBound + 1));
  EXPECT_EQ(binding.remembered_calls(), Binding::kStayingCalls + 1);
  EXPECT_TRUE(call_with(1) && call_with(kBound + 1));
  EXPECT_EQ(misses(), kBound + 1) << "the first stay";
  EXPECT_TRUE(call_with(kBound) && call_with(kBound));
  EXPECT_EQ(misses(), kBound + 2) << "one that passed is prepared once more";
  EXPECT_EQ(here.counters().plans_built, 1U);
}

TEST_F(SlotTest, ManyThreadsWhileCallsPass) {
  Context& here = make();
  const auto sweep = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t rows = begin; rows < end; ++rows) {
      ScaleCall call(rows, 1);
      scale(call.args);
      if (!call.right()) ADD_FAILURE() << rows << " rows";
    }
  };
  constexpr auto kStaying = static_cast<std::int64_t>(Binding::kStayingCalls);
  sweep(1, kStaying + 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {  // each meets keys of the others, before and after they are dropped
    threads.emplace_back(sweep, kStaying - 50, kStaying + 6000);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(here.binding("scale", "standard").remembered_calls(),
            Binding::kStayingCalls + Binding::kPassingCalls);
}

TEST_F(SlotTest, ManyThreadsWithWorkspace) {
  make({{"scale", "scratch"}});
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        ScaleCall call(1 + (i + t) % 9);
        scale(call.args);
        if (!call.right()) ADD_FAILURE() << "thread " << t << " round " << i;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace kw
