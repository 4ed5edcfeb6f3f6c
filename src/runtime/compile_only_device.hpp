// SPDX-License-Identifier: Apache-2.0
// A device that is not there: implementations prepare against it, so that their kernels are
// compiled and kept, and nothing can run. It loads every image and launches none.
#pragma once

#include "kernelwright/runtime/device.hpp"

namespace kw::runtime {

class CompileOnlyDevice final : public Device {
 public:
  // `hardware` is what implementations choose for.
  explicit CompileOnlyDevice(Hardware hardware) : hardware_(std::move(hardware)) {}

  const Hardware& hardware() const noexcept override { return hardware_; }
  bool is_capturing(void*) const noexcept override { return false; }
  // Nothing will be launched that could use it.
  void reserve_workspace(void*, std::int64_t, std::int64_t) override {}
  void* workspace(void*, std::int64_t, std::int64_t) noexcept override { return nullptr; }

  std::unique_ptr<Module> load_module(std::span<const std::byte> image) override;

  // Error(kUnsupported), all of them.
  MemoryInfo memory_info() const override { refuse(); }
  void* allocate(std::int64_t, MemoryKind) override { refuse(); }
  void copy(void*, const void*, std::int64_t, void*) override { refuse(); }
  void fill(void*, std::uint8_t, std::int64_t, void*) override { refuse(); }
  void* create_stream() override { refuse(); }
  void synchronize(void*) override { refuse(); }
  std::unique_ptr<Event> create_event() override { refuse(); }
  // Of what it never gave out.
  void deallocate(void*, MemoryKind) noexcept override {}
  void destroy_stream(void*) noexcept override {}

 private:
  [[noreturn]] void refuse() const;

  const Hardware hardware_;
};

}  // namespace kw::runtime
