// SPDX-License-Identifier: Apache-2.0
// A CPU as core sees one: workspace per thread of calling, a capture flag, and a count of
// everything that was asked of it. Needs no runtime.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "kernelwright/core/hardware.hpp"

namespace kw::toy {

class TestPort final : public DevicePort {
 public:
  explicit TestPort(int index = 0, int capability = 2) {
    hardware_.index = index;
    hardware_.capability = capability;
    hardware_.model = "test cpu";
  }

  std::atomic<bool> capturing{false};
  mutable std::atomic<int> capture_queries{0};
  std::atomic<int> reservations{0};

  const Hardware& hardware() const noexcept override { return hardware_; }
  bool is_capturing(void*) const noexcept override {
    ++capture_queries;
    return capturing;
  }
  void reserve_workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) override {
    ++reservations;
    const std::lock_guard lock(mutex_);
    Block& block = blocks_[{stream, std::this_thread::get_id()}];
    if (block.bytes >= bytes && block.zeroed >= zeroed_bytes) return;
    block.bytes = std::max(bytes, block.bytes);
    block.zeroed = std::max(zeroed_bytes, block.zeroed);
    block.memory.reset(
        static_cast<std::byte*>(::operator new(static_cast<std::size_t>(block.bytes), kAlignment)));
    std::memset(block.memory.get(), 0xA5, static_cast<std::size_t>(block.bytes));
    std::memset(block.memory.get(), 0, static_cast<std::size_t>(block.zeroed));
  }
  void* workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto it = blocks_.find({stream, std::this_thread::get_id()});
    const bool fits =
        it != blocks_.end() && it->second.bytes >= bytes && it->second.zeroed >= zeroed_bytes;
    return fits ? it->second.memory.get() : nullptr;
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, kAlignment); }
  };
  struct Block {
    std::int64_t bytes = 0, zeroed = 0;
    std::unique_ptr<std::byte, Free> memory;
  };

  Hardware hardware_;
  std::mutex mutex_;
  std::map<std::pair<void*, std::thread::id>, Block> blocks_;
};

}  // namespace kw::toy
