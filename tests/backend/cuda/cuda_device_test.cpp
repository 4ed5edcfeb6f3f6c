// SPDX-License-Identifier: Apache-2.0
// What the CUDA backend says where it cannot work; where there is a device, that it counts right.
#include "kernelwright/backend/cuda/cuda_device.hpp"

#include <gtest/gtest.h>

#include "kernelwright/backend/cuda/driver.hpp"
#include "support/expect_error.hpp"

namespace kw::runtime {
namespace {

TEST(CudaAbsence, AMissingLibraryIsAReasonWithAFix) {
  cuda::Driver driver{};
  const cuda::Opening opening = cuda::open_driver_library(driver, "libcuda-nonexistent.so.1");
  EXPECT_EQ(opening.driver, nullptr);
  EXPECT_EQ(opening.version, 0);
  EXPECT_NE(opening.absence.find("libcuda-nonexistent.so.1"), std::string::npos) << opening.absence;
  EXPECT_NE(opening.absence.find("install the driver"), std::string::npos) << opening.absence;
}

TEST(CudaAbsence, ALibraryThatIsNoDriverIsNamed) {
  cuda::Driver driver{};
  const cuda::Opening opening = cuda::open_driver_library(driver, "libc.so.6");
  EXPECT_EQ(opening.driver, nullptr);
  EXPECT_NE(opening.absence.find("without cuInit"), std::string::npos) << opening.absence;
}

TEST(CudaAbsence, DevicesOrAReasonNeverBoth) {
  EXPECT_EQ(cuda_devices().empty(), !cuda_absence().empty()) << cuda_absence();
  if (!cuda_devices().empty()) EXPECT_GE(cuda_driver_version(), 11080);
}

TEST(CudaAbsence, ADeviceThatIsNotThereSaysWhatIs) {
  const std::string there = cuda_devices().empty()
                                ? cuda_absence()
                                : "this machine has cuda:0 (" + cuda_devices()[0].model;
  test::expect_error(Code::kEnvironment, {"no device cuda:4096", there}, [] { CudaDevice(4096); });
  test::expect_error(Code::kEnvironment, {"no device cuda:-1"}, [] { CudaDevice(-1); });
}

}  // namespace
}  // namespace kw::runtime
