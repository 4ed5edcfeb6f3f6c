// SPDX-License-Identifier: Apache-2.0
// The suite's kernels compile with the real NVRTC; no GPU needed.
#include "kernelwright/suite/device_kernels.hpp"

#include <gtest/gtest.h>

#include "kernelwright/backend/cuda/toolchain_nvrtc.hpp"

namespace kw::suite {
namespace {

class DeviceKernelUnits : public testing::Test {
 protected:
  void SetUp() override {
    if (toolchain_.library().empty()) GTEST_SKIP() << "no libnvrtc on this machine";
  }
  void expect_compiles(const jit::Unit& unit) {
    const auto compiled = session_.compile(toolchain_, unit);
    EXPECT_GT(compiled->entry.image.size(), 500U) << unit.entry;
    EXPECT_EQ(compiled->entry.record.facts.spill_store_bytes, 0) << unit.entry;
  }
  jit::NvrtcToolchain toolchain_{jit::NvrtcOptions{}};
  jit::Session session_{jit::SessionOptions{}};
};

TEST_F(DeviceKernelUnits, CompileForTheOldestAndTheNewestArchitecture) {
  for (const char* arch : {"sm_80", "sm_120a"}) {
    for (int type = 0; type <= static_cast<int>(kit::FillType::kBool); ++type) {
      expect_compiles(fill_unit({.type = static_cast<kit::FillType>(type)}, arch));
    }
    expect_compiles(compare_unit({}, arch));
    expect_compiles(empty_unit(arch));
  }
}

TEST_F(DeviceKernelUnits, CompileForEveryFillInBothLayouts) {
  for (const Fill fill : fill_catalogue()) {
    expect_compiles(fill_unit({.fill = fill, .dense = true}, "sm_90a"));
    expect_compiles(
        fill_unit({.fill = fill, .type = kit::FillType::kF16, .dense = false}, "sm_90a"));
  }
}

}  // namespace
}  // namespace kw::suite
