// SPDX-License-Identifier: Apache-2.0
// Readings through a library that stands in for NVML, and what there is without one.
#include "kernelwright/backend/cuda/nvml_monitor.hpp"

#include <dlfcn.h>

#include <filesystem>

#include <gtest/gtest.h>

namespace kw::runtime {
namespace {

const std::string& library_path() {
  static const std::string kPath =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() /
       "lib/libfake_nvml.so")
          .string();
  return kPath;
}

std::string fact(const Monitor& monitor, const std::string& name) {
  for (const auto& [key, value] : monitor.facts()) {
    if (key == name) return value;
  }
  return {};
}

TEST(NvmlMonitor, ReadsWhatTheLibraryHas) {
  const auto monitor = open_nvml_monitor("0000:3b:00.0", library_path().c_str());
  const DeviceReading reading = monitor->read();
  EXPECT_EQ(reading.sm_mhz, 1980);
  EXPECT_EQ(reading.memory_mhz, 3201);
  EXPECT_EQ(reading.temperature_c, 41);
  EXPECT_DOUBLE_EQ(reading.watts.value_or(0), 123.456);
  EXPECT_EQ(reading.limit_watts, 700);
  EXPECT_EQ(reading.clock_event_reasons, 0x4U);  // by the function's old name
  EXPECT_EQ(reading.power_violation_ns, 777);
  EXPECT_FALSE(reading.thermal_violation_ns);  // refused
  EXPECT_EQ(reading.other_processes, 2);
  EXPECT_EQ(monitor->read().energy_millijoules.value_or(0) - *reading.energy_millijoules, 250);
  EXPECT_EQ(fact(*monitor, "driver"), "580.1");
  EXPECT_EQ(fact(*monitor, "nvml"), "13.580.1");
  EXPECT_EQ(fact(*monitor, "power_limit_watts"), "700");
}

TEST(NvmlMonitor, StopsTheLibraryThatItStarted) {
  void* library = ::dlopen(library_path().c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto started = reinterpret_cast<int (*)()>(::dlsym(library, "fake_nvml_started"));
  const int before = started();
  auto monitor = open_nvml_monitor("0000:3b:00.0", library_path().c_str());
  EXPECT_EQ(started(), before + 1);
  monitor = nullptr;
  EXPECT_EQ(started(), before);
  ::dlclose(library);
}

TEST(NvmlMonitor, WithoutLibraryOrDeviceTheFactsSayWhy) {
  const auto absent = open_nvml_monitor("0000:3b:00.0", "libno-such-nvml.so.1");
  EXPECT_FALSE(absent->read().sm_mhz);
  EXPECT_NE(fact(*absent, "nvml").find("libno-such-nvml.so.1"), std::string::npos)
      << fact(*absent, "nvml");
  const auto elsewhere = open_nvml_monitor("0000:99:00.0", library_path().c_str());
  EXPECT_FALSE(elsewhere->read().watts);
  EXPECT_NE(fact(*elsewhere, "nvml").find("0000:99:00.0: Not Found"), std::string::npos);
  const auto other = open_nvml_monitor("0000:3b:00.0", "libc.so.6");
  EXPECT_NE(fact(*other, "nvml").find("lacks nvmlInit_v2"), std::string::npos);
}

}  // namespace
}  // namespace kw::runtime
