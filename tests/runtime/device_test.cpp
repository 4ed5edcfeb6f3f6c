// SPDX-License-Identifier: Apache-2.0
// The owners of device objects, names, and capture and replay, on the simulated device.
#include "kernelwright/runtime/device.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "support/expect_error.hpp"
#include "support/fake_device.hpp"

namespace kw::runtime {
namespace {

using test::DriverCalls;
using test::expect_error;
using test::FakeDevice;

TEST(DeviceName, ReadsWhatTheCommandLineTakes) {
  EXPECT_EQ(parse_device_name("cpu").kind, DeviceKind::kCpu);
  EXPECT_EQ(parse_device_name("cuda").index, 0);
  const DeviceName second = parse_device_name("cuda:1");
  EXPECT_EQ(second.kind, DeviceKind::kCuda);
  EXPECT_EQ(second.index, 1);
  EXPECT_EQ(device_name_text(second), "cuda:1");
  EXPECT_EQ(device_name_text(parse_device_name("cpu:0")), "cpu");
}

TEST(DeviceName, SaysWhatIsWrong) {
  expect_error(Code::kNotFound, {"'gpu'", "cpu, cuda, npu"}, [] { parse_device_name("gpu:0"); });
  for (const char* text : {"cuda:", "cuda:x", "cuda:-1", "cuda:99999999999", "cuda:0:1"}) {
    expect_error(Code::kInvalidArgument, {text, "as in cuda:1"}, [&] { parse_device_name(text); });
  }
  expect_error(Code::kInvalidArgument, {"cpu:1", "there is one cpu"},
               [] { parse_device_name("cpu:1"); });
}

TEST(Buffer, OwnsItsMemoryOnce) {
  FakeDevice device;
  {
    Buffer buffer(device, 100);
    ASSERT_TRUE(buffer);
    EXPECT_EQ(buffer.bytes(), 100);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
    EXPECT_EQ(buffer.data()[99], FakeDevice::kFreshMemory);
    std::byte* const data = buffer.data();
    Buffer moved(std::move(buffer));
    EXPECT_EQ(moved.data(), data);
    moved = Buffer(device, 50, MemoryKind::kHostPinned);
    EXPECT_EQ(device.allocated_bytes(), 50);
  }
  EXPECT_EQ(device.allocated_bytes(), 0);
  EXPECT_EQ(device.calls().frees, 2);
}

TEST(Buffer, OfNothingAllocatesNothing) {
  FakeDevice device;
  const Buffer none(device, 0);
  EXPECT_FALSE(none);
  EXPECT_EQ(device.calls(), DriverCalls{});
  expect_error(Code::kInvalidArgument, {"-5 bytes", "cuda:0"}, [&] { Buffer(device, -5); });
}

TEST(Buffer, ShortageIsAnError) {
  FakeDevice device({.index = 2, .memory_bytes = 1000});
  const Buffer first(device, 600);
  expect_error(Code::kEnvironment, {"500 bytes", "cuda:2", "400 of 1000"},
               [&] { Buffer(device, 500); });
  EXPECT_EQ(device.memory_info().free_bytes, 400);
}

TEST(OwnedStream, EndReleasesItsWorkspace) {
  FakeDevice device;
  {
    OwnedStream stream(device);
    EXPECT_NE(stream.handle(), nullptr);
    EXPECT_EQ(stream.stream().port, &device);
    EXPECT_EQ(stream.stream().handle, stream.handle());
    device.reserve_workspace(stream.handle(), 128, 64);
    OwnedStream moved(std::move(stream));
    EXPECT_NE(device.workspace(moved.handle(), 128, 64), nullptr);
    moved.synchronize();
  }
  EXPECT_EQ(device.allocated_bytes(), 0);
  EXPECT_EQ(device.calls().streams, 1);
  EXPECT_EQ(device.calls().synchronizations, 1);
}

TEST(Event, MeasuresDeviceTime) {
  FakeDevice device;
  const OwnedStream stream(device);
  const auto start = device.create_event();
  const auto end = device.create_event();
  start->record(stream.handle());
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(device.enqueue(
        stream.handle(), [] {}, 250));
  end->record(stream.handle());
  end->synchronize();
  EXPECT_EQ(end->elapsed_ns_since(*start), 750);
  EXPECT_EQ(start->elapsed_ns_since(*end), -750);
}

TEST(Event, OrdersStreams) {
  FakeDevice device;
  const OwnedStream first(device), second(device);
  const auto done = device.create_event();
  const auto begin = device.create_event();
  const auto end = device.create_event();
  begin->record(second.handle());
  EXPECT_TRUE(device.enqueue(
      first.handle(), [] {}, 5000));
  done->record(first.handle());
  done->block(second.handle());
  end->record(second.handle());
  EXPECT_EQ(end->elapsed_ns_since(*begin), 5000);
}

TEST(Event, SaysWhyThereIsNoTime) {
  FakeDevice device, other({.index = 1});
  const auto never = device.create_event();
  const auto recorded = device.create_event();
  recorded->record(nullptr);
  expect_error(Code::kInvalidArgument, {"never recorded", "cuda:0"},
               [&] { static_cast<void>(recorded->elapsed_ns_since(*never)); });
  const auto elsewhere = other.create_event();
  elsewhere->record(nullptr);
  expect_error(Code::kInvalidArgument, {"cuda:0", "cuda:1", "one device"},
               [&] { static_cast<void>(recorded->elapsed_ns_since(*elsewhere)); });
}

TEST(Capture, RecordsAndReplays) {
  FakeDevice device;
  const OwnedStream stream(device);
  Buffer buffer(device, 16);
  int runs = 0;

  Capture capture(device, stream.handle());
  EXPECT_TRUE(device.is_capturing(stream.handle()));
  EXPECT_FALSE(device.is_capturing(nullptr)) << "capture is a state of the stream";
  device.fill(buffer.data(), 7, 16, stream.handle());
  EXPECT_TRUE(device.enqueue(stream.handle(), [&] { ++runs; }));
  EXPECT_TRUE(device.enqueue(stream.handle(), [&] { ++runs; }));
  device.copy(buffer.data() + 8, buffer.data(), 8, stream.handle());
  EXPECT_EQ(runs, 0);
  const auto graph = capture.finish();
  EXPECT_FALSE(device.is_capturing(stream.handle()));

  const GraphNodes nodes = graph->nodes();
  EXPECT_EQ(nodes.kernels, 2);
  EXPECT_EQ(nodes.fills, 1);
  EXPECT_EQ(nodes.copies, 1);
  EXPECT_EQ(nodes.total(), 4);

  const auto start = device.create_event();
  const auto end = device.create_event();
  device.reset_calls();
  start->record(stream.handle());
  for (int i = 0; i < 5; ++i) graph->launch(stream.handle());
  end->record(stream.handle());
  EXPECT_EQ(runs, 10);
  EXPECT_EQ(buffer.data()[15], std::byte{7});
  EXPECT_EQ(end->elapsed_ns_since(*start), 5 * 2 * FakeDevice::kKernelNs);
  EXPECT_EQ(device.calls().graph_launches, 5);
  EXPECT_EQ(device.calls().launches, 0);
  expect_error(Code::kConflict, {"has ended"}, [&] { capture.finish(); });
}

TEST(Capture, IsAbandonedWhenAnExceptionPasses) {
  FakeDevice device;
  const OwnedStream stream(device);
  int runs = 0;
  EXPECT_THROW(
      {
        const Capture capture(device, stream.handle());
        static_cast<void>(device.enqueue(stream.handle(), [&] { ++runs; }));
        throw std::runtime_error("between");
      },
      std::runtime_error);
  EXPECT_FALSE(device.is_capturing(stream.handle()));
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(device.enqueue(stream.handle(), [&] { ++runs; }));
  EXPECT_EQ(runs, 1);
}

TEST(Capture, ForbiddenCallsInvalidateIt) {
  FakeDevice device;
  const OwnedStream stream(device), other(device);
  {
    Capture capture(device, stream.handle());
    expect_error(Code::kEnvironment, {"an allocation", "capturing"}, [&] { Buffer(device, 8); });
    expect_error(Code::kEnvironment, {"invalid", "an allocation during the capture"},
                 [&] { capture.finish(); });
  }
  {
    Capture capture(device, stream.handle());
    EXPECT_NO_THROW(device.synchronize(other.handle()));
    expect_error(Code::kEnvironment, {"a synchronisation"},
                 [&] { device.synchronize(stream.handle()); });
    expect_error(Code::kEnvironment, {"a synchronisation during the capture"},
                 [&] { capture.finish(); });
  }
  EXPECT_NO_THROW(Buffer(device, 8));
}

TEST(Capture, SaysWhyItCannotBegin) {
  FakeDevice device;
  const OwnedStream stream(device);
  expect_error(Code::kUnsupported, {"default stream of cuda:0", "create a stream"},
               [&] { Capture(device, nullptr); });
  const Capture capture(device, stream.handle());
  expect_error(Code::kConflict, {"capturing already"}, [&] { Capture(device, stream.handle()); });
  int nothing = 0;
  expect_error(Code::kInvalidArgument, {"not one of cuda:0"}, [&] { Capture(device, &nothing); });
}

struct AddArguments {
  const std::int32_t *a, *b;
  std::int32_t* sum;
  std::int32_t count;
};

void add(const LaunchShape& shape, const void* arguments) {
  AddArguments args;
  std::memcpy(&args, arguments, sizeof args);
  const unsigned threads = shape.grid.x * shape.block.x;
  for (unsigned i = 0; i < std::min(threads, static_cast<unsigned>(args.count)); ++i) {
    args.sum[i] = args.a[i] + args.b[i];
  }
}

TEST(Module, LaunchesAnEntryWithABlockOfArguments) {
  FakeDevice device;
  device.define_kernel("add", add);
  const auto module = device.load_module(FakeDevice::image({"add"}));
  const Function& function = module->function("add", 1024);
  EXPECT_GT(function.facts().registers, 0);
  EXPECT_EQ(function.resident_blocks({.block = {256}}), 8);

  std::vector<std::int32_t> a(100), b(100, 5), sum(100, -1);
  std::iota(a.begin(), a.end(), 0);
  AddArguments args{a.data(), b.data(), sum.data(), 100};
  const LaunchShape shape{.grid = {4}, .block = {32}, .shared_bytes = 1024};
  EXPECT_TRUE(function.launch(shape, &args, sizeof args, nullptr));
  EXPECT_EQ(sum[99], 104);

  const OwnedStream stream(device);
  Capture capture(device, stream.handle());
  EXPECT_TRUE(function.launch(shape, &args, sizeof args, stream.handle()));
  args = {};  // the block was copied
  const auto graph = capture.finish();
  a.assign(100, 1);
  graph->launch(stream.handle());
  EXPECT_EQ(sum[99], 6);
}

TEST(Module, SaysWhatIsWrong) {
  FakeDevice device;
  device.define_kernel("add", add);
  const auto module = device.load_module(FakeDevice::image({"add"}));
  expect_error(Code::kNotFound, {"unknown entry 'ad'", "did you mean 'add'"},
               [&] { module->function("ad"); });
  expect_error(Code::kUnsupported, {"'add'", "300000 bytes", "has 232448"},
               [&] { module->function("add", 300000); });
  expect_error(Code::kEnvironment, {"refuses an image of 3 bytes"}, [&] {
    const std::byte junk[3] = {};
    device.load_module(junk);
  });

  const Function& function = module->function("add");
  const Status status = function.launch({.block = {2048}}, nullptr, 0, nullptr);
  EXPECT_EQ(status.code, StatusCode::kDevice);
  EXPECT_NE(last_message().find("2048 threads (limit 1024)"), std::string::npos) << last_message();
  EXPECT_EQ(function.launch({.shared_bytes = 1}, nullptr, 0, nullptr).code, StatusCode::kDevice);
}

TEST(FakeDevice, FailsALaunchWhenToldTo) {
  FakeDevice device;
  device.fail_next_launch("an illegal address");
  int runs = 0;
  EXPECT_EQ(device.enqueue(nullptr, [&] { ++runs; }).code, StatusCode::kDevice);
  EXPECT_EQ(last_message(), "an illegal address");
  EXPECT_TRUE(device.enqueue(nullptr, [&] { ++runs; }));
  EXPECT_EQ(runs, 1);
}

TEST(FakeDevice, CatchesCopiesThatLeaveTheirMemory) {
  FakeDevice device;
  const Buffer buffer(device, 64);
  char host[128] = {};
  EXPECT_NO_THROW(device.copy(buffer.data(), host, 64, nullptr));
  expect_error(Code::kEnvironment, {"a copy of 65 bytes", "allocation of 64"},
               [&] { device.copy(buffer.data(), host, 65, nullptr); });
  expect_error(Code::kEnvironment, {"a fill of 60 bytes"},
               [&] { device.fill(buffer.data() + 8, 0, 60, nullptr); });
}

TEST(FakeDevice, CountsWhatReachesTheDriver) {
  FakeDevice device;
  device.set_capability(100);
  EXPECT_EQ(device.hardware().capability, 100);
  EXPECT_EQ(device.hardware().kind, DeviceKind::kCuda);
  EXPECT_EQ(device.name(), "cuda:0");

  device.reserve_workspace(nullptr, 256, 64);
  device.reset_calls();
  DriverCalls expected;
  EXPECT_NE(device.workspace(nullptr, 256, 64), nullptr);
  EXPECT_EQ(device.calls(), expected) << "a lookup asks the driver nothing";
  EXPECT_TRUE(device.enqueue(nullptr, [] {}));
  expected.launches = 1;
  EXPECT_EQ(device.calls(), expected);
  device.is_capturing(nullptr);
  expected.queries = 1;
  EXPECT_EQ(device.calls(), expected);
  device.reserve_workspace(nullptr, 64, 0);
  expected.reservations = 1;
  EXPECT_EQ(device.calls(), expected);
}

}  // namespace
}  // namespace kw::runtime
