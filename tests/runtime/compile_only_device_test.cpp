// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/runtime/compile_only_device.hpp"

#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace kw::runtime {
namespace {

CompileOnlyDevice absent_device() {
  Hardware hardware;
  hardware.kind = DeviceKind::kCuda;
  hardware.model = "a device of sm_90a";
  return CompileOnlyDevice(hardware);
}

TEST(CompileOnlyDevice, LoadsEverythingAndLaunchesNothing) {
  CompileOnlyDevice device = absent_device();
  const auto module = device.load_module({});
  const Function& function = module->function("any");
  EXPECT_EQ(function.launch({}, nullptr, 0, nullptr).code, StatusCode::kDevice);
  EXPECT_EQ(last_message(),
            "a device of sm_90a is not there: kernels are compiled for it, and nothing runs");
  test::expect_error(Code::kUnsupported, {"a device of sm_90a is not there"},
                     [&] { function.resident_blocks({}); });
}

TEST(CompileOnlyDevice, RefusesWhatNeedsADevice) {
  CompileOnlyDevice device = absent_device();
  const auto refuses = [](auto call) {
    test::expect_error(Code::kUnsupported, {"a device of sm_90a is not there", "nothing runs"},
                       call);
  };
  refuses([&] { Buffer(device, 64, MemoryKind::kDevice); });
  refuses([&] { OwnedStream stream(device); });
  refuses([&] { device.memory_info(); });
  refuses([&] { device.copy(nullptr, nullptr, 1, nullptr); });
  refuses([&] { device.fill(nullptr, 0, 1, nullptr); });
  refuses([&] { device.synchronize(nullptr); });
  refuses([&] { device.create_event(); });
  device.reserve_workspace(nullptr, 1 << 20, 0);  // for preparing, which may come next
  EXPECT_EQ(device.workspace(nullptr, 1, 0), nullptr);
}

}  // namespace
}  // namespace kw::runtime
