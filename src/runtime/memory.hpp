// SPDX-License-Identifier: Apache-2.0
// Owned memory of a device. No copies or fills here: those are ordered by a stream (device.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace kw::runtime {

class Device;

// Least alignment of every allocation, and the unit of workspaces.
inline constexpr std::int64_t kMemoryAlignment = 64;

enum class MemoryKind : std::uint8_t {
  kDevice,
  kHostPinned,  // host memory that copies of the device reach without staging
};

struct MemoryInfo {
  std::int64_t total_bytes = 0, free_bytes = 0;
};

// Owns one allocation. Freeing waits for nothing: work that uses the memory must have finished, or
// the device's deallocation must be ordered after it (CUDA's is). Must not outlive its device.
class Buffer {
 public:
  Buffer() = default;
  // Throws Error(kEnvironment) when memory is short, Error(kInvalidArgument) for negative sizes.
  // Zero bytes allocate nothing and have a null address.
  Buffer(Device& device, std::int64_t bytes, MemoryKind kind = MemoryKind::kDevice);
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer();

  std::byte* data() const noexcept { return data_; }
  std::int64_t bytes() const noexcept { return bytes_; }
  explicit operator bool() const noexcept { return data_ != nullptr; }
  void swap(Buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(kind_, other.kind_);
  }

 private:
  Device* device_ = nullptr;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  MemoryKind kind_ = MemoryKind::kDevice;
};

}  // namespace kw::runtime
