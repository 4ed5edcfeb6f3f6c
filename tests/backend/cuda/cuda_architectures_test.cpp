// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/backend/cuda/cuda_architectures.hpp"

#include <gtest/gtest.h>

#include "kernelwright/backend/cuda/cuda_toolchain.hpp"
#include "support/expect_error.hpp"

namespace kw::runtime {
namespace {

TEST(CudaArchitectures, AreCompiledForUnderTheirOwnNames) {
  EXPECT_EQ(cuda_architectures(),
            (std::vector<std::string>{"sm_80", "sm_90a", "sm_100a", "sm_120a"}));
  for (const std::string& name : cuda_architectures()) {
    const Hardware hardware = cuda_hardware(name);
    EXPECT_EQ(jit::cuda_arch(hardware), name);
    EXPECT_EQ(hardware.kind, DeviceKind::kCuda);
    EXPECT_GT(hardware.units, 100);
    EXPECT_EQ(hardware.features.empty(), name == "sm_80");
  }
}

TEST(CudaArchitectures, UnknownOnesAreAnsweredWithTheNearest) {
  test::expect_error(Code::kNotFound, {"unknown architecture 'sm_90'", "did you mean 'sm_90a'?"},
                     [] { cuda_hardware("sm_90"); });
}

}  // namespace
}  // namespace kw::runtime
