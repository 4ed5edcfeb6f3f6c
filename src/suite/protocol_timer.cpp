// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/protocol_timer.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/runtime/raw_launches.hpp"

namespace kw::suite {
namespace {

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
      for (Timing& timing : time_enqueue(same)) add(std::move(timing), work.bytes);
      break;
    case Protocol::kCall:
      fail(Code::kInternal, "protocol '{}' times another problem than it is given",
           protocol_name(protocol));
  }
  return timings;
}

// A call, and in turns with it the launches that it makes (captured, so the same kernels, grids and
// arguments) without it. Both in a thread whose context is current, as that of an application is.
std::vector<Timing> ProtocolTimer::time_enqueue(const Work& work) {
  runtime::Device& device = platform_.device;
  const Sample call = enqueued(device, work.stream, work.enqueue);
  device.synchronize(nullptr);
  runtime::Capture capture(device, work.stream);
  throw_if_failed(work.enqueue(0, work.stream));
  const std::unique_ptr<runtime::Graph> graph = capture.finish();
  std::vector<Timing> timings;
  const auto add = [&](Timing timing, const char* name) {
    timing.protocol = name;
    timing.calls_per_sample = static_cast<int>(kSampleCalls);
    timings.push_back(std::move(timing));
  };
  auto* const kernels = dynamic_cast<runtime::RawLaunches*>(graph.get());
  const auto scope = kernels != nullptr ? kernels->make_current() : nullptr;
  if (kernels == nullptr || !kernels->launch_kernels(work.stream)) {
    add(collect_samples("", rule_, call, platform_.monitor.get()), "host_enqueue");
    return timings;
  }
  const Sample raw = enqueued(device, work.stream, [&](std::int64_t, void* stream) {
    kernels->launch_kernels(stream);
    return Status{};
  });
  PairedTimings pair = collect_pairs(rule_, call, raw, platform_.monitor.get());
  add(std::move(pair.first), "host_enqueue");
  add(std::move(pair.second), "raw_launch");
  add(std::move(pair.difference), "over_raw_launch");
  return timings;
}

Enqueue ProtocolTimer::empty_call() const {
  if (platform_.kernels == nullptr) return [](std::int64_t, void*) { return Status{}; };
  const jit::Plan& empty = platform_.kernels->empty_kernel();
  return [&empty](std::int64_t, void* stream) {
    static constexpr std::uint64_t kArgument = 0;
    return empty.launch({}, &kArgument, sizeof kArgument, stream);
  };
}

const Floors& ProtocolTimer::measure_floors(const std::vector<Protocol>& protocols) {
  StoppingRule rule = rule_;
  if (rule.iterations == 0) rule.iterations = kFloorSamples;
  ProtocolTimer timer(platform_, rule);
  const runtime::OwnedStream stream(platform_.device);
  Work nothing;
  nothing.enqueue = empty_call();
  nothing.stream = stream.handle();
  for (const Protocol protocol : protocols) {
    if (protocol == Protocol::kCall) continue;
    for (const Timing& timing : timer.time(protocol, nothing)) {
      if (timing.protocol.ends_with("raw_launch")) continue;  // what a call is compared with
      floors_.emplace_back(timing.protocol, timing.nanoseconds.median);
    }
  }
  eviction_ = timer.eviction_;
  return floors_;
}

}  // namespace kw::suite
