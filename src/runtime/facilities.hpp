// SPDX-License-Identifier: Apache-2.0
// What some devices can do beside all others, for tests and measurement. A Device that can derives
// from these too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernelwright/runtime/device.hpp"

namespace kw::runtime {

// Device memory between addresses where nothing is, so that an access outside is a fault. As costly
// as two of the device's pages (2 MB each on CUDA).
class GuardedMemory {
 public:
  enum class Flush : std::uint8_t { kEnd, kStart };  // which of its ends touches a missing page

  virtual bool has_guarded_memory() const noexcept = 0;
  // Its address is aligned only as size and end allow; bytes > 0. Throws Error(kEnvironment).
  virtual void* allocate_guarded(std::int64_t bytes, Flush flush) = 0;
  virtual void free_guarded(void* data) noexcept = 0;

 protected:
  ~GuardedMemory() = default;
};

// Null where the device lacks it, or its driver.
inline GuardedMemory* guarded_memory(Device& device) noexcept {
  auto* const found = dynamic_cast<GuardedMemory*>(&device);
  return found != nullptr && found->has_guarded_memory() ? found : nullptr;
}

// Owns one allocation; work that uses it must have finished. Must not outlive its device.
class GuardedBuffer {
 public:
  GuardedBuffer(GuardedMemory& source, std::int64_t bytes, GuardedMemory::Flush flush)
      : source_(&source), data_(static_cast<std::byte*>(source.allocate_guarded(bytes, flush))) {}
  GuardedBuffer(GuardedBuffer&& other) noexcept
      : source_(other.source_), data_(std::exchange(other.data_, nullptr)) {}
  GuardedBuffer& operator=(GuardedBuffer&&) = delete;
  ~GuardedBuffer() {
    if (data_ != nullptr) source_->free_guarded(data_);
  }

  std::byte* data() const noexcept { return data_; }

 private:
  GuardedMemory* source_;
  std::byte* data_;
};

// A cache in which kernels may ask for lines to be kept (`persisting` in CUDA's words).
class PersistingCache {
 public:
  // Kept lines become ordinary ones. Nothing where the device keeps none. Throws
  // Error(kEnvironment).
  virtual void reset_persisting() = 0;

 protected:
  ~PersistingCache() = default;
};

// Between two kernels that are timed: neither finds in the cache what the other asked to keep.
inline void reset_persisting(Device& device) {
  if (auto* const cache = dynamic_cast<PersistingCache*>(&device)) cache->reset_persisting();
}

}  // namespace kw::runtime
