// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/scratch.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/core.h>

#include "kernelwright/base/fail.hpp"

namespace kw::suite {
namespace {

constexpr std::int64_t kGuardBytes = 512;
constexpr std::uint8_t kCanary = 0xc3;

std::optional<std::string> nonzero(const std::byte* data, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; ++i) {
    if (data[i] != std::byte{0})
      return fmt::format("byte {} of the {} that a launch must leave zero is not", i, bytes);
  }
  return std::nullopt;
}

// Stands before the CPU device and lends memory of its own.
class HostScratch final : public Scratch, private DevicePort {
 public:
  explicit HostScratch(runtime::Device& device) : device_(device) { grow(0); }

  DevicePort& port() noexcept override { return *this; }

  void arm(const WorkspaceSize& size, std::uint8_t poison) override {
    if (size.bytes > capacity_) grow(size.bytes);
    armed_ = size;
    const std::size_t bytes = static_cast<std::size_t>(size.bytes);
    std::memset(memory_.data(), kCanary, static_cast<std::size_t>(memory_.bytes()));
    std::memset(base(), poison, bytes);
    std::memset(base(), 0, static_cast<std::size_t>(size.zeroed_bytes));
  }

  std::optional<std::string> overrun() override {
    const auto damaged = [](std::byte b) { return b != std::byte{kCanary}; };
    const std::byte* begin = memory_.data();
    const std::byte* end = begin + memory_.bytes();
    if (std::find_if(begin, begin + kGuardBytes, damaged) != begin + kGuardBytes)
      return "bytes before the workspace";
    const std::byte* after = base() + armed_.bytes;
    if (const std::byte* at = std::find_if(after, end, damaged); at != end) {
      return fmt::format("byte {} after the {} bytes of workspace", at - after, armed_.bytes);
    }
    return std::nullopt;
  }

  std::optional<std::string> unclean() override { return nonzero(base(), armed_.zeroed_bytes); }

 private:
  const Hardware& hardware() const noexcept override { return device_.hardware(); }
  bool is_capturing(void* stream) const noexcept override { return device_.is_capturing(stream); }
  void reserve_workspace(void*, std::int64_t bytes, std::int64_t zeroed_bytes) override {
    if (bytes > capacity_) grow(bytes);
    std::memset(base(), 0, static_cast<std::size_t>(zeroed_bytes));
  }
  void* workspace(void*, std::int64_t bytes, std::int64_t) noexcept override {
    return bytes <= capacity_ ? base() : nullptr;
  }

  std::byte* base() const noexcept { return memory_.data() + kGuardBytes; }
  void grow(std::int64_t bytes) {
    memory_ = runtime::Buffer(device_, bytes + 2 * kGuardBytes);
    std::memset(memory_.data(), kCanary, static_cast<std::size_t>(memory_.bytes()));
    capacity_ = bytes;
  }

  runtime::Device& device_;
  runtime::Buffer memory_;
  std::int64_t capacity_ = 0;
  WorkspaceSize armed_;
};

// Uses the device's own pool: implementations may rely on the device behind the port.
class PoolScratch final : public Scratch {
 public:
  explicit PoolScratch(runtime::Device& device) : device_(device) {}

  DevicePort& port() noexcept override { return device_; }

  void arm(const WorkspaceSize& size, std::uint8_t poison) override {
    armed_ = size;
    memory_ = nullptr;
    if (size.bytes == 0) return;
    device_.reserve_workspace(nullptr, size.bytes, size.zeroed_bytes);
    memory_ = static_cast<std::byte*>(device_.workspace(nullptr, size.bytes, size.zeroed_bytes));
    if (memory_ == nullptr)
      fail(Code::kInternal, "{} has no workspace of {} bytes after reserving it", device_.name(),
           size.bytes);
    if (size.zeroed_bytes > 0) device_.fill(memory_, 0, size.zeroed_bytes, nullptr);
    if (size.bytes > size.zeroed_bytes)
      device_.fill(memory_ + size.zeroed_bytes, poison, size.bytes - size.zeroed_bytes, nullptr);
  }

  std::optional<std::string> overrun() override { return std::nullopt; }

  std::optional<std::string> unclean() override {
    if (memory_ == nullptr || armed_.zeroed_bytes == 0) return std::nullopt;
    std::vector<std::byte> copy(static_cast<std::size_t>(armed_.zeroed_bytes));
    device_.copy(copy.data(), memory_, armed_.zeroed_bytes, nullptr);
    device_.synchronize(nullptr);
    return nonzero(copy.data(), armed_.zeroed_bytes);
  }

 private:
  runtime::Device& device_;
  WorkspaceSize armed_;
  std::byte* memory_ = nullptr;
};

}  // namespace

std::unique_ptr<Scratch> make_scratch(runtime::Device& device) {
  if (device.hardware().kind == DeviceKind::kCpu) return std::make_unique<HostScratch>(device);
  return std::make_unique<PoolScratch>(device);
}

}  // namespace kw::suite
