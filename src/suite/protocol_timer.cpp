// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/protocol_timer.hpp"

#include <algorithm>
#include <array>

#include "kernelwright/base/fail.hpp"

namespace kw::suite {
namespace {

constexpr int kFewArgumentBytes = 8;
constexpr std::size_t kManyArgumentWords = 48;
constexpr int kFloorSamples = 30;

}  // namespace

Timing ProtocolTimer::collect(const char* name, const Sample& sample, std::int64_t calls) {
  Timing timing = collect_samples(name, rule_, sample, platform_.monitor.get());
  timing.calls_per_sample = static_cast<int>(calls);
  return timing;
}

Timing ProtocolTimer::time_waited(const char* name, const Work& work) {
  runtime::Device& device = platform_.device;
  return take_samples(
      name, rule_,
      [&](std::int64_t n) {
        throw_if_failed(work.enqueue(n, work.stream));
        device.synchronize(work.stream);
      },
      platform_.monitor.get());
}

std::vector<Timing> ProtocolTimer::time(Protocol protocol, const Work& work) {
  runtime::Device& device = platform_.device;
  const double all_bytes = work.bytes * static_cast<double>(work.sets);
  Work same = work;
  same.enqueue = [&work](std::int64_t, void* stream) { return work.enqueue(0, stream); };
  std::vector<Timing> timings;
  const auto add = [&](Timing timing, double working_set) {
    timing.working_set_bytes = working_set;
    const auto floor = std::find_if(floors_.begin(), floors_.end(), [&](const auto& entry) {
      return entry.first == timing.protocol;
    });
    if (floor != floors_.end()) timing.floor_ns = floor->second;
    timings.push_back(std::move(timing));
  };
  switch (protocol) {
    case Protocol::kWallSync:
      if (device.has_graphs()) {
        add(time_waited("wall_sync", work), all_bytes);
        break;
      }
      add(time_waited("wall_cold", work), all_bytes);
      add(time_waited("wall_hot", same), work.bytes);
      break;
    case Protocol::kGraph: {
      const std::int64_t calls = calls_for(work.sets);
      add(collect("graph_cold", replayed(device, work.stream, work.enqueue, calls), calls),
          all_bytes);
      add(collect("graph_hot", replayed(device, work.stream, same.enqueue, kSampleCalls),
                  kSampleCalls),
          work.bytes);
      break;
    }
    case Protocol::kDeviceCold:
      if (eviction_ == nullptr)
        eviction_ = std::make_shared<CacheEviction>(device, *platform_.kernels);
      add(collect("device_cold", evicted(device, work.stream, work.enqueue, eviction_), 1),
          all_bytes);
      break;
    case Protocol::kEager:
      add(collect("eager_cold", eager(device, work.stream, work.enqueue), kSampleCalls), all_bytes);
      break;
    case Protocol::kHostEnqueue:
      add(collect("host_enqueue", enqueued(device, work.stream, same.enqueue), kSampleCalls),
          work.bytes);
      break;
    case Protocol::kCall:
      fail(Code::kInternal, "protocol '{}' times another problem than it is given",
           protocol_name(protocol));
  }
  return timings;
}

// The driver copies arguments at each launch: with next to none, and with as many as kernels over
// strided tensors have.
Enqueue ProtocolTimer::empty_call(int argument_bytes) const {
  if (platform_.kernels == nullptr) return [](std::int64_t, void*) { return Status{}; };
  const jit::Plan& empty = platform_.kernels->empty_kernel(argument_bytes);
  return [&empty, argument_bytes](std::int64_t, void* stream) {
    static constexpr std::array<std::uint64_t, kManyArgumentWords> kArguments{};
    return empty.launch({}, kArguments.data(), static_cast<std::size_t>(argument_bytes), stream);
  };
}

Timing ProtocolTimer::time_raw_launch(const char* name, int argument_bytes, void* stream) {
  return collect(name, enqueued(platform_.device, stream, empty_call(argument_bytes)),
                 kSampleCalls);
}

const Floors& ProtocolTimer::measure_floors(const std::vector<Protocol>& protocols) {
  StoppingRule rule = rule_;
  if (rule.iterations == 0) rule.iterations = kFloorSamples;
  ProtocolTimer timer(platform_, rule);
  const runtime::OwnedStream stream(platform_.device);
  Work nothing;
  nothing.enqueue = empty_call(kFewArgumentBytes);
  nothing.stream = stream.handle();
  for (const Protocol protocol : protocols) {
    if (protocol == Protocol::kCall) continue;
    for (const Timing& timing : timer.time(protocol, nothing))
      floors_.emplace_back(timing.protocol, timing.nanoseconds.median);
  }
  eviction_ = timer.eviction_;
  return floors_;
}

}  // namespace kw::suite
