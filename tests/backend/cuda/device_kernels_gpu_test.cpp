// SPDX-License-Identifier: Apache-2.0
// Fills on the device have the host's bits: every fill, type and layout, and elements behind 2^32.
#include "kernelwright/suite/device_kernels.hpp"

#include <gtest/gtest.h>

#include "kernelwright/backend/cuda/cuda_device.hpp"
#include "kernelwright/backend/cuda/cuda_toolchain.hpp"
#include "kernelwright/suite/element.hpp"

namespace kw::suite {
namespace {

constexpr DType kTypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16,
                            DType::kI64, DType::kI32, DType::kU8,  DType::kBool};

class DeviceKernelsGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (runtime::cuda_devices().empty()) GTEST_SKIP() << runtime::cuda_absence();
    device_ = std::make_unique<runtime::CudaDevice>(0);
    kernels_ = std::make_unique<DeviceKernels>(*device_, jit::cuda_toolchain(),
                                               jit::cuda_arch(device_->hardware()), session_);
  }
  std::vector<std::byte> download(const void* data, std::int64_t bytes) {
    std::vector<std::byte> host(static_cast<std::size_t>(bytes));
    device_->copy(host.data(), data, bytes, nullptr);
    device_->synchronize(nullptr);
    return host;
  }

  jit::Session session_{jit::SessionOptions{}};
  std::unique_ptr<runtime::CudaDevice> device_;
  std::unique_ptr<DeviceKernels> kernels_;
};

struct Layout {
  const char* name;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t first;  // offset of the first element
};

TEST_F(DeviceKernelsGpu, EveryFillTypeAndLayoutHasTheBitsOfTheHost) {
  const Layout layouts[] = {
      {"dense", {37, 1031}, {1031, 1}, 0},         {"unaligned", {37, 1031}, {1031, 1}, 3},
      {"pitched", {6, 7, 129}, {1000, 131, 1}, 1}, {"transposed", {33, 65}, {1, 40}, 0},
      {"expanded", {5, 9, 64}, {64, 0, 1}, 0},     {"one", {1}, {1}, 0}};
  constexpr std::int64_t kElements = 40'000;
  for (const DType dtype : kTypes) {
    const auto size = static_cast<std::int64_t>(dtype_bytes(dtype));
    const runtime::Buffer memory(*device_, kElements * size);
    for (const Layout& layout : layouts) {
      for (const Fill fill : fill_catalogue()) {
        const FillKey key{fill, 11, "x", layout.sizes.back(), 1};
        std::vector<std::byte> host(static_cast<std::size_t>(kElements * size), std::byte{0x5a});
        fill_tensor({host.data() + layout.first * size, dtype, layout.sizes, layout.strides}, key);
        device_->fill(memory.data(), 0x5a, memory.bytes(), nullptr);
        ASSERT_TRUE(kernels_->fill(
            {memory.data() + layout.first * size, dtype, layout.sizes, layout.strides}, key,
            nullptr));
        EXPECT_EQ(download(memory.data(), memory.bytes()), host)
            << dtype_name(dtype) << ' ' << layout.name << ' ' << fill_name(fill);
      }
    }
  }
}

TEST_F(DeviceKernelsGpu, ElementsBehindFourGigaAreThoseOfTheirIndex) {
  constexpr std::int64_t kRows = 66'000, kWidth = 65'536;  // 4.3e9 elements of one byte
  if (device_->memory_info().free_bytes < 2 * kRows * kWidth) GTEST_SKIP() << "too little memory";
  const runtime::Buffer memory(*device_, kRows * kWidth);
  const FillKey key{Fill::kNormal, 5, "x", kWidth, 0};
  ASSERT_TRUE(kernels_->fill({memory.data(), DType::kU8, {kRows, kWidth}}, key, nullptr));
  for (const std::int64_t row : {std::int64_t{0}, std::int64_t{32'767}, std::int64_t{32'768},
                                 std::int64_t{65'535}, std::int64_t{65'536}, kRows - 1}) {
    std::vector<double> values(kWidth);
    fill_values(DType::kU8, key, kRows * kWidth, row * kWidth, kWidth, values.data());
    const auto bytes = download(memory.data() + row * kWidth, kWidth);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      ASSERT_EQ(std::to_integer<int>(bytes[i]), values[i]) << row << ' ' << i;
  }
}

TEST_F(DeviceKernelsGpu, ComparisonFindsOneByteAnywhere) {
  const runtime::Buffer a(*device_, 1 << 20), b(*device_, 1 << 20);
  for (const std::int64_t at : {0, 8'191, (1 << 20) - 1}) {
    device_->fill(a.data(), 3, a.bytes(), nullptr);
    device_->fill(b.data(), 3, b.bytes(), nullptr);
    kernels_->compare(a.data(), b.data(), a.bytes(), nullptr);
    EXPECT_FALSE(kernels_->take_difference(nullptr));
    device_->fill(b.data() + at, 4, 1, nullptr);
    kernels_->compare(a.data(), b.data(), a.bytes(), nullptr);
    EXPECT_TRUE(kernels_->take_difference(nullptr)) << at;
  }
}

}  // namespace
}  // namespace kw::suite
