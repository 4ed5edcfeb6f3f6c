// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/stopwatch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace kw::suite {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestHold{1000};

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

struct Events {
  explicit Events(runtime::Device& device)
      : begin(device.create_event()), end(device.create_event()) {}

  template <typename Work>
  double ns_around(void* stream, const Work& work) {
    begin->record(stream);
    work();
    end->record(stream);
    end->synchronize();
    return end->elapsed_ns_since(*begin);
  }

  std::unique_ptr<runtime::Event> begin, end;
};

std::int64_t cache_bytes(const runtime::Device& device) {
  return std::max<std::int64_t>(device.hardware().last_level_cache_bytes, 1 << 20) / 8 * 8;
}

}  // namespace

std::int64_t calls_for(std::int64_t sets) noexcept {
  return (kSampleCalls + sets - 1) / sets * sets;
}

Sample replayed(runtime::Device& device, void* stream, const Enqueue& enqueue, std::int64_t calls) {
  device.synchronize(nullptr);  // the stream does not wait for uploads
  runtime::Capture capture(device, stream);
  for (std::int64_t n = 0; n < calls; ++n) throw_if_failed(enqueue(n, stream));
  std::shared_ptr<runtime::Graph> graph = capture.finish();
  auto events = std::make_shared<Events>(device);
  return [=] {
    return events->ns_around(stream, [&] { graph->launch(stream); }) / static_cast<double>(calls);
  };
}

CacheEviction::CacheEviction(runtime::Device& device, DeviceKernels& kernels)
    : device_(device),
      kernels_(kernels),
      written_(device, 2 * cache_bytes(device)),
      read_(device, cache_bytes(device)) {
  device.fill(read_.data(), 0, read_.bytes(), nullptr);
  device.synchronize(nullptr);
}

void CacheEviction::enqueue(void* stream) {
  device_.fill(written_.data(), 0, written_.bytes(), stream);
  kernels_.compare(read_.data(), read_.data(), read_.bytes(), stream);
}

Sample evicted(runtime::Device& device, void* stream, Enqueue enqueue,
               std::shared_ptr<CacheEviction> eviction) {
  auto events = std::make_shared<Events>(device);
  return [=, n = std::int64_t{0}]() mutable {
    eviction->enqueue(stream);
    return events->ns_around(stream, [&] { throw_if_failed(enqueue(n++, stream)); });
  };
}

Sample eager(runtime::Device& device, void* stream, Enqueue enqueue) {
  auto events = std::make_shared<Events>(device);
  return [=, n = std::int64_t{0}]() mutable {
    return events->ns_around(stream, [&] {
      for (std::int64_t i = 0; i < kSampleCalls; ++i) throw_if_failed(enqueue(n++, stream));
    }) / static_cast<double>(kSampleCalls);
  };
}

Sample enqueued(runtime::Device& device, void* stream, Enqueue enqueue) {
  return [=, &device, n = std::int64_t{0}]() mutable {
    // The device begins when all is enqueued: its progress is no part of the host's time.
    const auto hold = device.is_asynchronous() ? device.hold(stream, kLongestHold) : nullptr;
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < kSampleCalls; ++i) throw_if_failed(enqueue(n++, stream));
    const double ns = ns_since(start);
    if (hold != nullptr) hold->release();
    device.synchronize(stream);
    return ns / static_cast<double>(kSampleCalls);
  };
}

Sample waited(runtime::Device& device, void* stream, Enqueue enqueue, std::int64_t calls) {
  return [=, &device, n = std::int64_t{0}]() mutable {
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < calls; ++i) {
      throw_if_failed(enqueue(n++, stream));
      device.synchronize(stream);
    }
    return ns_since(start) / static_cast<double>(calls);
  };
}

}  // namespace kw::suite
