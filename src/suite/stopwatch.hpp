// SPDX-License-Identifier: Apache-2.0
// One sample of device time, host time or both, of whatever can be enqueued: a bound
// implementation, or the empty kernel whose time is the floor of the protocol. A sample is
// nanoseconds per call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernelwright/core/status.hpp"
#include "kernelwright/runtime/device.hpp"
#include "kernelwright/suite/device_kernels.hpp"

namespace kw::suite {

// Enqueues call n. Devices outlive samples; so does everything that a call uses.
using Enqueue = std::function<Status(std::int64_t n, void* stream)>;
using Sample = std::function<double()>;

// At least, in a graph or between two waits: the cost of a replay is shared by so many, and queues
// of devices hold several times as many.
inline constexpr std::int64_t kSampleCalls = 64;
inline constexpr std::int64_t kMaxGraphCalls = 4096;

// Calls of a sample that walks `sets` sets of buffers as often as the others. 0 < sets <=
// kMaxGraphCalls.
std::int64_t calls_for(std::int64_t sets) noexcept;

// Calls 0 ... calls - 1 captured once; a sample is the device time of a replay.
Sample replayed(runtime::Device& device, void* stream, const Enqueue& enqueue, std::int64_t calls);

// Empties the last-level cache of what calls left there: writes two caches' worth, then reads
// another one, so that what was written has gone to memory when a call begins.
class CacheEviction {
 public:
  CacheEviction(runtime::Device& device, DeviceKernels& kernels);
  void enqueue(void* stream);

 private:
  runtime::Device& device_;
  DeviceKernels& kernels_;
  runtime::Buffer written_, read_;
};

// Device time between events around one call behind an eviction. The host enqueues all of it while
// the device evicts, so that its own time does not show.
Sample evicted(runtime::Device& device, void* stream, Enqueue enqueue,
               std::shared_ptr<CacheEviction> eviction);

// Device time between events around kSampleCalls eager calls: the host's share shows where it is
// the longer one.
Sample eager(runtime::Device& device, void* stream, Enqueue enqueue);

// Host time until kSampleCalls calls are enqueued on a drained stream, held where it can be.
Sample enqueued(runtime::Device& device, void* stream, Enqueue enqueue);

// Host time of a call until its work is done; a sample has `calls` of them.
Sample waited(runtime::Device& device, void* stream, Enqueue enqueue, std::int64_t calls);

}  // namespace kw::suite
