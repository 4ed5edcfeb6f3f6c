// SPDX-License-Identifier: Apache-2.0
// The CPU as a device. Work runs in the calling thread: there are no stream handles (only null) and
// no graphs, and each thread has a workspace of its own.
#pragma once

#include <memory>
#include <optional>

#include "kernelwright/runtime/device.hpp"
#include "kernelwright/runtime/workspace_pool.hpp"

namespace kw::runtime {

struct CpuOptions {
  // Pretends that the machine has no more: 1 baseline, 2 AVX2, 3 AVX-512.
  int max_capability = 3;
  // Nothing: KW_NUM_THREADS, else the processors this process may run on.
  std::optional<int> threads = std::nullopt;
};

// Copies and fills are done when the call returns. Handles that are not null are refused with
// Error(kInvalidArgument).
class CpuDevice final : public Device {
 public:
  // Throws Error(kInvalidArgument) for options out of range.
  explicit CpuDevice(const CpuOptions& options = {});
  ~CpuDevice() override;

  const Hardware& hardware() const noexcept override { return hardware_; }
  bool is_capturing(void*) const noexcept override { return false; }
  // For the calling thread; freed when it ends. Another thread finds null until it reserves too.
  void reserve_workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) override;
  void* workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) noexcept override;
  std::int64_t reserved_workspace_bytes() const { return pool_.reserved_bytes(); }

  MemoryInfo memory_info() const override;
  void* allocate(std::int64_t bytes, MemoryKind kind) override;
  void deallocate(void* data, MemoryKind kind) noexcept override;
  void copy(void* destination, const void* source, std::int64_t bytes, void* stream) override;
  void fill(void* destination, std::uint8_t value, std::int64_t bytes, void* stream) override;

  void* create_stream() override { return nullptr; }
  void destroy_stream(void*) noexcept override {}
  void synchronize(void* stream) override;
  std::unique_ptr<Event> create_event() override;

 private:
  Hardware hardware_;
  WorkspacePool pool_;
};

}  // namespace kw::runtime
