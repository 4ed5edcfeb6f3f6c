// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/guarded_tensor.hpp"

#include <gtest/gtest.h>

#include "kernelwright/suite/element.hpp"
#include "suite/support/host_device.hpp"

namespace kw::suite {
namespace {

TensorSpec strided() {
  TensorSpec spec;
  spec.present = true;
  spec.dtype = DType::kBF16;
  spec.rank = 2;
  spec.sizes = {4, 5};
  spec.strides = {9, 1};
  spec.contiguous = false;
  spec.align = 2;
  return spec;
}

TEST(GuardedTensor, HonoursTheAlignmentClassExactly) {
  test::HostDevice device;
  for (const int align : {1, 2, 4, 8, 16}) {
    TensorSpec spec = strided();
    spec.dtype = DType::kU8;
    spec.align = align;
    const GuardedTensor tensor(device, spec, 1);
    EXPECT_EQ(spec_of(tensor.view()).align, align);
  }
}

TEST(GuardedTensor, WritingElementsDamagesNothing) {
  test::HostDevice device;
  GuardedTensor tensor(device, strided(), 7);
  EXPECT_EQ(tensor.damage(), std::nullopt);
  tensor.poison(0xff);
  write_elements(tensor.host_view(), std::vector<double>(20, 1.5));
  EXPECT_EQ(tensor.damage(), std::nullopt);
  EXPECT_EQ(tensor.element_bytes().size(), 40U);
}

TEST(GuardedTensor, EveryByteOutsideElementsIsWatched) {
  test::HostDevice device;
  struct Case {
    std::int64_t offset;
    const char* where;
  };
  // 4 rows of 10 bytes, 18 apart: elements end at byte 64.
  for (const Case& c : {Case{-1, "1 bytes before"},
                        {-512, "512 bytes before"},
                        {64, "0 bytes after"},
                        {64 + 511, "511 bytes after"},
                        {10, "a gap"},
                        {53, "a gap"}}) {
    GuardedTensor tensor(device, strided(), 7);
    static_cast<std::byte*>(tensor.view().data)[c.offset] ^= std::byte{1};
    ASSERT_TRUE(tensor.damage().has_value()) << c.offset;
    EXPECT_NE(tensor.damage()->find(c.where), std::string::npos) << *tensor.damage();
  }
}

TEST(GuardedTensor, NeitherPoisonPassesForACanary) {
  test::HostDevice device;
  for (const std::uint8_t poison : {std::uint8_t{0xff}, std::uint8_t{0x5a}}) {
    for (std::int64_t at = -512; at < 0; ++at) {
      GuardedTensor tensor(device, strided(), 3);
      static_cast<std::uint8_t*>(tensor.view().data)[at] = poison;
      EXPECT_TRUE(tensor.damage().has_value()) << at;
    }
  }
}

TEST(GuardedTensor, ExpandedAndEmptyTensors) {
  test::HostDevice device;
  TensorSpec spec = strided();
  spec.strides = {0, 1};
  GuardedTensor expanded(device, spec, 1);
  write_elements(expanded.host_view(), std::vector<double>(20, 2.0));
  EXPECT_EQ(expanded.damage(), std::nullopt);
  static_cast<std::byte*>(expanded.view().data)[10] ^= std::byte{1};
  EXPECT_TRUE(expanded.damage().has_value());

  spec.sizes = {0, 5};
  spec.contiguous = true;
  GuardedTensor empty(device, spec, 1);
  empty.poison(0xff);
  EXPECT_EQ(empty.damage(), std::nullopt);
  static_cast<std::byte*>(empty.view().data)[0] ^= std::byte{1};
  EXPECT_TRUE(empty.damage().has_value());
}

TEST(GuardedTensor, TheHashSeesEveryByte) {
  test::HostDevice device;
  GuardedTensor tensor(device, strided(), 1);
  const StorageHash before = tensor.hash();
  for (const std::int64_t at : {-512, 0, 9, 12, 63, 575}) {
    static_cast<std::byte*>(tensor.view().data)[at] ^= std::byte{4};
    EXPECT_NE(tensor.hash(), before) << at;
    static_cast<std::byte*>(tensor.view().data)[at] ^= std::byte{4};
  }
  EXPECT_EQ(tensor.hash(), before);
}

}  // namespace
}  // namespace kw::suite
