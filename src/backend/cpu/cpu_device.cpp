// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/backend/cpu/cpu_device.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "kernelwright/backend/cpu/cpu_features.hpp"
#include "kernelwright/backend/cpu/cpu_topology.hpp"
#include "kernelwright/base/fail.hpp"
#include "kernelwright/core/environment.hpp"

namespace kw::runtime {
namespace {

Hardware probe(const CpuOptions& options) {
  if (options.max_capability < 1 || options.max_capability > 3) {
    fail(Code::kInvalidArgument, "cpu capability {}: known are 1 (baseline), 2 (avx2), 3 (avx512)",
         options.max_capability);
  }
  if (options.threads && *options.threads < 1) {
    fail(Code::kInvalidArgument, "cpu with {} threads: at least 1 is needed", *options.threads);
  }
  CpuFeatures features = capped(probe_cpu(host_cpuid()), options.max_capability);
  Hardware hardware;
  hardware.model = std::move(features.model);
  hardware.capability = features.capability;
  hardware.features = std::move(features.features);
  hardware.last_level_cache_bytes = last_level_cache_bytes();
  hardware.units = options.threads             ? *options.threads
                   : environment().num_threads ? *environment().num_threads
                                               : allowed_processors();
  return hardware;
}

void require_null(const void* stream) {
  if (stream != nullptr) {
    fail(Code::kInvalidArgument, "stream {} given to cpu, which has none; pass a null handle",
         stream);
  }
}

// A thread's workspaces are keyed by the address of its tag, which needs no initialisation check.
thread_local constinit char thread_tag = 0;

// The pools of live devices. A thread may end after its device, or after static destruction began:
// hence a list to look in, which is never destroyed.
struct LivePools {
  std::mutex mutex;
  std::vector<WorkspacePool*> pools;
};
LivePools& live_pools() {
  static auto* const live = new LivePools;
  return *live;
}

struct ThreadEnd {
  ~ThreadEnd() {
    const std::lock_guard lock(live_pools().mutex);
    for (WorkspacePool* pool : live_pools().pools) pool->release(&thread_tag);
  }
  void arm() const noexcept {}
};
thread_local ThreadEnd thread_end;

class CpuEvent final : public Event {
 public:
  explicit CpuEvent(Device& device) noexcept : Event(device) {}

  void record(void* stream) override {
    require_null(stream);
    time_ = Clock::now();
  }
  // What was recorded has been executed.
  void block(void* stream) override { require_null(stream); }
  void synchronize() override {}

 private:
  using Clock = std::chrono::steady_clock;

  double elapsed_ns(const Event& start) const override {
    const auto& from = static_cast<const CpuEvent&>(start);
    if (!time_ || !from.time_) {
      fail(Code::kInvalidArgument, "elapsed time of an event on cpu that was never recorded");
    }
    return std::chrono::duration<double, std::nano>(*time_ - *from.time_).count();
  }

  std::optional<Clock::time_point> time_;
};

}  // namespace

CpuDevice::CpuDevice(const CpuOptions& options) : hardware_(probe(options)), pool_(*this) {
  const std::lock_guard lock(live_pools().mutex);
  live_pools().pools.push_back(&pool_);
}

CpuDevice::~CpuDevice() {
  const std::lock_guard lock(live_pools().mutex);
  std::erase(live_pools().pools, &pool_);
}

void CpuDevice::reserve_workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) {
  require_null(stream);
  thread_end.arm();
  pool_.reserve(&thread_tag, stream, bytes, zeroed_bytes);
}

void* CpuDevice::workspace(void*, std::int64_t bytes, std::int64_t zeroed_bytes) noexcept {
  return pool_.find(&thread_tag, bytes, zeroed_bytes);
}

MemoryInfo CpuDevice::memory_info() const { return host_memory(); }

void* CpuDevice::allocate(std::int64_t bytes, MemoryKind) {
  const MemoryInfo memory = host_memory();
  // Overcommitting systems grant any size and kill the process later.
  void* data = nullptr;
  if (memory.total_bytes == 0 || bytes <= memory.total_bytes) {
    const std::int64_t rounded =
        (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
    data = std::aligned_alloc(kMemoryAlignment, static_cast<std::size_t>(rounded));
  }
  if (data == nullptr) {
    fail(Code::kEnvironment, "cannot allocate {} bytes on cpu: {} of {} are available", bytes,
         memory.free_bytes, memory.total_bytes);
  }
  return data;
}

void CpuDevice::deallocate(void* data, MemoryKind) noexcept { std::free(data); }

void CpuDevice::copy(void* destination, const void* source, std::int64_t bytes, void* stream) {
  require_null(stream);
  if (bytes > 0) std::memmove(destination, source, static_cast<std::size_t>(bytes));
}

void CpuDevice::fill(void* destination, std::uint8_t value, std::int64_t bytes, void* stream) {
  require_null(stream);
  if (bytes > 0) std::memset(destination, value, static_cast<std::size_t>(bytes));
}

void CpuDevice::synchronize(void* stream) { require_null(stream); }

std::unique_ptr<Event> CpuDevice::create_event() { return std::make_unique<CpuEvent>(*this); }

}  // namespace kw::runtime
