// SPDX-License-Identifier: Apache-2.0
// Device memory between unmapped addresses, by the driver's virtual memory.
#include "kernelwright/backend/cuda/cuda_objects.hpp"
#include "kernelwright/base/fail.hpp"

namespace kw::runtime {

using cuda::kSuccess;
using cuda::Result;

bool CudaDevice::has_guarded_memory() const noexcept {
  const cuda::Driver& driver = context_.driver;
  const bool complete = driver.memory_granularity != nullptr && driver.address_reserve != nullptr &&
                        driver.address_free != nullptr && driver.memory_create != nullptr &&
                        driver.memory_release != nullptr && driver.memory_map != nullptr &&
                        driver.memory_unmap != nullptr && driver.memory_access != nullptr;
  int there = 0;
  return complete &&
         driver.device_attribute(&there, cuda::kVirtualMemory, context_.device) == kSuccess &&
         there != 0;
}

// | nothing, a page | mapped, whole pages | nothing, a page |
void* CudaDevice::allocate_guarded(std::int64_t bytes, Flush flush) {
  const Guard guard(*this);
  const cuda::Driver& driver = context_.driver;
  const cuda::MemoryLocation here{cuda::kLocationDevice, context_.device};
  const cuda::MemoryProperties properties{cuda::kMemoryPinned, 0, here, nullptr, {}};
  const cuda::MemoryAccess access{here, cuda::kReadWrite};
  std::size_t page = 0;
  check(driver.memory_granularity(&page, &properties, 0), "tell the size of its pages");
  const auto size = static_cast<std::size_t>(bytes);
  const std::size_t mapped = (size + page - 1) / page * page, reserved = mapped + 2 * page;

  cuda::Address all = 0;
  cuda::MemoryHandle memory = 0;
  check(driver.address_reserve(&all, reserved, 0, 0, 0),
        fmt::format("reserve {} bytes of addresses", reserved));
  const cuda::Address first = all + page;
  Result result = driver.memory_create(&memory, mapped, &properties, 0);
  if (result == kSuccess) {
    result = driver.memory_map(first, mapped, 0, memory, 0);
    driver.memory_release(memory);  // the mapping keeps it
  }
  if (result == kSuccess) {
    result = driver.memory_access(first, mapped, &access, 1);
    if (result != kSuccess) driver.memory_unmap(first, mapped);
  }
  if (result != kSuccess) driver.address_free(all, reserved);
  check(result, fmt::format("map {} bytes between unmapped addresses", mapped));

  void* const data = cuda::pointer_of(flush == Flush::kEnd ? first + mapped - size : first);
  const std::lock_guard lock(guarded_mutex_);
  guarded_.emplace(data, GuardedBlock{all, reserved, page});
  return data;
}

void CudaDevice::free_guarded(void* data) noexcept {
  const Guard guard(*this);
  const std::lock_guard lock(guarded_mutex_);
  const auto found = guarded_.find(data);
  if (found == guarded_.end()) return;
  const GuardedBlock& block = found->second;
  context_.driver.memory_unmap(block.address + block.page, block.reserved - 2 * block.page);
  context_.driver.address_free(block.address, block.reserved);
  guarded_.erase(found);
}

void CudaDevice::reset_persisting() {
  const Guard guard(*this);
  const auto reset = context_.driver.reset_persisting_l2;
  if (reset == nullptr) return;
  const Result result = reset();
  if (result != cuda::kNotSupported) check(result, "reset lines that persist in its cache");
}

}  // namespace kw::runtime
