// SPDX-License-Identifier: Apache-2.0
// Times what passed. Cold figures rotate over several sets of buffers, hot ones stay on one.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/suite/buffer_sets.hpp"
#include "kernelwright/suite/device_kernels.hpp"
#include "kernelwright/suite/roof.hpp"
#include "kernelwright/suite/run.hpp"
#include "kernelwright/suite/runner.hpp"
#include "kernelwright/suite/sampler.hpp"

namespace kw::suite {
namespace {

constexpr int kManyArgumentBytes = 384;
constexpr std::int64_t kGraphCalls = 64;  // at least; a replay's own cost is shared by so many
constexpr double kWholeBytes = 1e9;       // of host memory: what is larger is judged by slices
constexpr double kImplausible = 1.02;     // of the measured roof

class BenchRun {
 public:
  BenchRun(const BenchRequest& request, const Platform& platform)
      : request_(request), platform_(platform) {
    rule_.warmup = request.warmup;
    rule_.iterations = request.iterations;
    rule_.confidence = request.confidence;
    rule_.min_samples = request.min_samples;
    rule_.max_seconds = request.max_seconds;
    protocols_ = request.protocols;
    const bool graphs = platform.device.has_graphs();
    if (protocols_.empty() && graphs)
      protocols_ = {Protocol::kDevice, Protocol::kHost};
    else if (protocols_.empty())
      protocols_ = {Protocol::kWall, Protocol::kCall};
    for (const Protocol protocol : protocols_) {
      if (graphs || protocol == Protocol::kWall || protocol == Protocol::kCall) continue;
      fail(Code::kUnsupported,
           "protocol '{}' needs a device with streams and graphs; {} has wall "
           "and call",
           protocol_name(protocol), platform.device.name());
    }
  }

  BenchReport run() {
    const Fill fill = parse_fill(request_.fill);
    const std::vector<Target> targets = find_targets(request_, platform_);
    const double memory =
        std::min(0.6 * static_cast<double>(platform_.device.memory_info().free_bytes),
                 platform_.kernels != nullptr ? kWholeBytes : 1e18);
    std::vector<std::unique_ptr<TargetRunner>> runners;
    std::vector<std::vector<Problem>> problems;
    for (const Target& target : targets) {
      runners.push_back(std::make_unique<TargetRunner>(target, request_, platform_, 2, memory));
      problems.push_back(find_problems(request_, platform_, *target.operation->contract));
    }
    report_.roof = measure_copy_roof(platform_.device);
    std::int64_t index = 0;
    for (std::size_t t = 0; t < targets.size(); ++t) {
      for (const Problem& problem : problems[t]) {
        if (index++ % request_.shards != request_.shard) continue;
        report_.rows.push_back(row(*runners[t], {problem, fill, request_.seed}));
        if (request_.progress) request_.progress(report_.rows.back());
      }
    }
    return std::move(report_);
  }

 private:
  BenchRow row(TargetRunner& runner, const Case& spec) {
    BenchRow row;
    row.numerics = runner.run(spec);
    row.bytes = problem_bytes(spec.problem);
    row.flops = problem_flops(spec.problem);
    if (row.numerics.status != CaseStatus::kPassed) return row;
    const std::vector<Operand> operands = operands_of(spec.problem);
    if (std::any_of(operands.begin(), operands.end(),
                    [](const Operand& operand) { return operand.role == Role::kMutated; })) {
      row.flags.emplace_back("not_timed: the call changes its inputs");
      return row;
    }
    try {
      time(runner, spec, row);
    } catch (const Error& error) {
      row.timings.clear();
      row.numerics.status = CaseStatus::kError;
      row.numerics.reason = Reason::kDeviceError;
      row.numerics.message = std::string("while timing: ") + error.what();
    }
    return row;
  }

  void time(TargetRunner& runner, const Case& spec, BenchRow& row) {
    for (const Protocol protocol : protocols_) {
      switch (protocol) {
        case Protocol::kWall:
          time_wall(runner, spec, row);
          break;
        case Protocol::kCall:
          time_call(runner, spec, row);
          break;
        case Protocol::kDevice:
          time_graphs(runner, spec, row);
          break;
        case Protocol::kEager:
          time_eager(runner, spec, row);
          break;
        case Protocol::kHost:
          time_host(runner, spec, row);
          break;
      }
    }
  }

  void ready(TargetRunner& runner, const Problem& problem) { runner.bound().prepare(problem); }

  void call(TargetRunner& runner, const Arguments& arguments) {
    throw_if_failed(runner.bound().call(arguments));
    platform_.device.synchronize(nullptr);
  }

  double cache_bytes() const {
    return static_cast<double>(platform_.device.hardware().last_level_cache_bytes);
  }

  // Sets of buffers that one rotation walks.
  std::int64_t rotation(const BenchRow& row) const {
    return cold_rotation(row.bytes, cache_bytes());
  }

  void time_wall(TargetRunner& runner, const Case& spec, BenchRow& row) {
    const std::int64_t count = rotation(row);
    BufferSets sets(spec, count, platform_);
    ready(runner, spec.problem);

    Timing cold =
        take_samples("wall_cold", rule_, [&](std::int64_t n) { call(runner, sets.arguments(n)); });
    Timing hot =
        take_samples("wall_hot", rule_, [&](std::int64_t) { call(runner, sets.arguments(0)); });
    for (std::int64_t n = 0; n < count; ++n) call(runner, sets.arguments(n));
    report_times(runner, row, sets, std::move(cold), std::move(hot));
  }

  // Device time between events around a replay, without what the host takes to enqueue.
  void time_graphs(TargetRunner& runner, const Case& spec, BenchRow& row) {
    runtime::Device& device = platform_.device;
    const std::int64_t count = rotation(row);
    BufferSets sets(spec, count, platform_);
    const runtime::OwnedStream stream = ready_stream(runner, spec.problem);
    const std::int64_t calls = (kGraphCalls + count - 1) / count * count;
    const auto begin = device.create_event(), end = device.create_event();
    const auto time_replays = [&](const char* protocol, std::int64_t distinct) {
      runtime::Capture capture(device, stream.handle());
      for (std::int64_t n = 0; n < calls; ++n)
        throw_if_failed(runner.bound().call_on(sets.arguments(n % distinct), stream.handle()));
      const auto graph = capture.finish();
      Timing timing = collect_samples(protocol, rule_, [&] {
        begin->record(stream.handle());
        graph->launch(stream.handle());
        end->record(stream.handle());
        end->synchronize();
        return end->elapsed_ns_since(*begin) / static_cast<double>(calls);
      });
      timing.calls_per_sample = static_cast<int>(calls);
      return timing;
    };
    Timing cold = time_replays("device_cold", count);
    Timing hot = time_replays("device_hot", 1);
    report_times(runner, row, sets, std::move(cold), std::move(hot));
  }

  // A stream of its own, with workspace for calls of `problem`.
  runtime::OwnedStream ready_stream(TargetRunner& runner, const Problem& problem) {
    const WorkspaceSize workspace = runner.bound().prepare(problem);
    runtime::OwnedStream stream(platform_.device);
    if (workspace.bytes > 0)
      platform_.device.reserve_workspace(stream.handle(), workspace.bytes, workspace.zeroed_bytes);
    return stream;
  }

  // Between events, so that the host's share shows where it is the longer one.
  void time_eager(TargetRunner& runner, const Case& spec, BenchRow& row) {
    BufferSets sets(spec, rotation(row), platform_);
    const runtime::OwnedStream stream = ready_stream(runner, spec.problem);
    const auto begin = platform_.device.create_event(), end = platform_.device.create_event();
    std::int64_t next = 0;
    Timing timing = collect_samples("eager_cold", rule_, [&] {
      begin->record(stream.handle());
      for (std::int64_t n = 0; n < kGraphCalls; ++n)
        throw_if_failed(runner.bound().call_on(sets.arguments(next++), stream.handle()));
      end->record(stream.handle());
      end->synchronize();
      return end->elapsed_ns_since(*begin) / static_cast<double>(kGraphCalls);
    });
    timing.calls_per_sample = static_cast<int>(kGraphCalls);
    timing.working_set_bytes = row.bytes * static_cast<double>(sets.count());
    row.timings.push_back(std::move(timing));
  }

  // The stream is drained between samples, and its queue holds more than a sample.
  void time_host(TargetRunner& runner, const Case& spec, BenchRow& row) {
    BufferSets sets(spec, 1, platform_);
    const runtime::OwnedStream stream = ready_stream(runner, spec.problem);
    const auto time_enqueue = [&](const char* protocol, const auto& enqueue) {
      Timing timing = collect_samples(protocol, rule_, [&] {
        const auto start = std::chrono::steady_clock::now();
        for (std::int64_t n = 0; n < kGraphCalls; ++n) throw_if_failed(enqueue());
        const std::chrono::duration<double, std::nano> elapsed =
            std::chrono::steady_clock::now() - start;
        stream.synchronize();
        return elapsed.count() / static_cast<double>(kGraphCalls);
      });
      timing.calls_per_sample = static_cast<int>(kGraphCalls);
      row.timings.push_back(std::move(timing));
    };
    time_enqueue("host_enqueue",
                 [&] { return runner.bound().call_on(sets.arguments(0), stream.handle()); });
    if (platform_.kernels == nullptr) return;
    // The driver copies arguments at each launch: with next to none, and with as many as kernels
    // over strided tensors have.
    const std::array<std::uint64_t, kManyArgumentBytes / 8> arguments{};
    const auto time_empty = [&](const char* protocol, int bytes) {
      const jit::Plan& empty = platform_.kernels->empty_kernel(bytes);
      time_enqueue(protocol, [&] {
        return empty.launch({}, arguments.data(), static_cast<std::size_t>(bytes), stream.handle());
      });
    };
    time_empty("raw_launch", 8);
    time_empty("raw_launch_384", kManyArgumentBytes);
  }

  // `cold` walked all sets, `hot` the first.
  void report_times(TargetRunner& runner, BenchRow& row, BufferSets& sets, Timing cold,
                    Timing hot) {
    cold.working_set_bytes = row.bytes * static_cast<double>(sets.count());
    if (cold.working_set_bytes < kColdFactor * cache_bytes()) cold.flags.emplace_back("not_cold");
    hot.working_set_bytes = row.bytes;
    if (runner.bound().implementation().info.deterministic && !sets.outputs_agree()) {
      row.numerics.status = CaseStatus::kFailed;
      row.numerics.reason = Reason::kNondeterministic;
      row.numerics.message = "calls on equal inputs gave other outputs while timing";
      return;
    }
    row.gigabytes_per_second = row.bytes / cold.nanoseconds.median;
    row.roof_share = row.gigabytes_per_second / report_.roof.gigabytes_per_second;
    if (cold.flags.empty() && row.roof_share > kImplausible)
      row.flags.emplace_back(reason_name(Reason::kImplausibleSpeed));
    row.flags.insert(row.flags.end(), cold.flags.begin(), cold.flags.end());
    row.timings.push_back(std::move(cold));
    row.timings.push_back(std::move(hot));
  }

  // On a synchronous device nothing separates the host's share from the work but an empty call.
  void time_call(TargetRunner& runner, const Case& spec, BenchRow& row) {
    if (!has_batch(spec.problem)) return;
    const Case empty{batch_prefix(spec.problem, 0), spec.fill, spec.seed};
    if (!runner.accepts(empty.problem)) return;
    BufferSets sets(empty, 1, platform_);
    ready(runner, empty.problem);
    row.timings.push_back(
        take_samples("call", rule_, [&](std::int64_t) { call(runner, sets.arguments(0)); }));
  }

  const BenchRequest& request_;
  const Platform& platform_;
  StoppingRule rule_;
  std::vector<Protocol> protocols_;
  BenchReport report_;
};

constexpr std::array<std::string_view, 5> kProtocolNames{"wall", "call", "device", "eager", "host"};

}  // namespace

std::string_view protocol_name(Protocol protocol) noexcept {
  return kProtocolNames[static_cast<std::size_t>(protocol)];
}

Protocol parse_protocol(std::string_view name) {
  const auto it = std::find(kProtocolNames.begin(), kProtocolNames.end(), name);
  if (it == kProtocolNames.end())
    fail(Code::kNotFound, "{}",
         unknown_name_message("protocol", name, {kProtocolNames.begin(), kProtocolNames.end()}));
  return static_cast<Protocol>(it - kProtocolNames.begin());
}

BenchReport run_bench(const BenchRequest& request, const Platform& platform) {
  HeaderDraft header("bench", request, platform.device);
  BenchReport report = BenchRun(request, platform).run();
  report.header = header.finish(describe_request(request));
  return report;
}

}  // namespace kw::suite
