// SPDX-License-Identifier: Apache-2.0
// The least CPU device: host memory, no streams. The real one belongs to a layer above the suite.
#pragma once

#include "kernelwright/runtime/device.hpp"
#include "kernelwright/runtime/workspace_pool.hpp"

namespace kw::test {

class HostDevice final : public runtime::Device {
 public:
  HostDevice();

  const Hardware& hardware() const noexcept override { return hardware_; }
  bool is_capturing(void*) const noexcept override { return false; }
  void reserve_workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) override {
    pool_.reserve(nullptr, stream, bytes, zeroed_bytes);
  }
  using Device::workspace;
  void* workspace(void*, std::int64_t bytes, std::int64_t zeroed_bytes) noexcept override {
    return pool_.find(nullptr, bytes, zeroed_bytes);
  }

  runtime::MemoryInfo memory_info() const override {
    return {std::int64_t{4} << 30, std::int64_t{2} << 30};
  }
  void* allocate(std::int64_t bytes, runtime::MemoryKind kind) override;
  void deallocate(void* data, runtime::MemoryKind kind) noexcept override;
  void copy(void* destination, const void* source, std::int64_t bytes, void* stream) override;
  void fill(void* destination, std::uint8_t value, std::int64_t bytes, void* stream) override;
  void* create_stream() override { return nullptr; }
  void destroy_stream(void*) noexcept override {}
  void synchronize(void*) override {}
  std::unique_ptr<runtime::Event> create_event() override { return nullptr; }

 private:
  Hardware hardware_;
  runtime::WorkspacePool pool_;
};

}  // namespace kw::test
