// SPDX-License-Identifier: Apache-2.0
#include "suite/support/host_device.hpp"

#include <cstring>
#include <new>

namespace kw::test {

HostDevice::HostDevice() : pool_(*this) {
  hardware_.kind = DeviceKind::kCpu;
  hardware_.model = "test host";
  hardware_.capability = 1;
  hardware_.units = 1;
  hardware_.last_level_cache_bytes = 1 << 16;
}

void* HostDevice::allocate(std::int64_t bytes, runtime::MemoryKind) {
  return ::operator new (static_cast<std::size_t>(bytes),
                         std::align_val_t{runtime::kMemoryAlignment});
}

void HostDevice::deallocate(void* data, runtime::MemoryKind) noexcept {
  ::operator delete (data, std::align_val_t{runtime::kMemoryAlignment});
}

void HostDevice::copy(void* destination, const void* source, std::int64_t bytes, void*) {
  std::memcpy(destination, source, static_cast<std::size_t>(bytes));
}

void HostDevice::fill(void* destination, std::uint8_t value, std::int64_t bytes, void*) {
  std::memset(destination, value, static_cast<std::size_t>(bytes));
}

}  // namespace kw::test
