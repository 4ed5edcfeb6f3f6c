// SPDX-License-Identifier: Apache-2.0
// Times what passed. Cold figures rotate over several sets of buffers, hot ones stay on one.
#include <algorithm>
#include <array>
#include <memory>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/suite/buffer_sets.hpp"
#include "kernelwright/suite/roof.hpp"
#include "kernelwright/suite/run.hpp"
#include "kernelwright/suite/runner.hpp"
#include "kernelwright/suite/sampler.hpp"

namespace kw::suite {
namespace {

constexpr std::int64_t kGraphCalls = 64;  // at least; a replay's own cost is shared by so many
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
  }

  BenchReport run() {
    const Fill fill = parse_fill(request_.fill);
    const std::vector<Target> targets = find_targets(request_, platform_);
    const double memory = 0.6 * static_cast<double>(platform_.device.memory_info().free_bytes);
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
    for (const Protocol protocol : request_.protocols) {
      if (protocol == Protocol::kWall && platform_.device.has_graphs())
        time_graphs(runner, spec, row);
      else if (protocol == Protocol::kWall)
        time_wall(runner, spec, row);
      else
        time_call(runner, spec, row);
    }
  }

  void ready(TargetRunner& runner, const Problem& problem) {
    runner.scratch().arm(runner.bound().prepare(problem), 0);
  }

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
    const WorkspaceSize workspace = runner.bound().prepare(spec.problem);
    const runtime::OwnedStream stream(device);
    if (workspace.bytes > 0)
      device.reserve_workspace(stream.handle(), workspace.bytes, workspace.zeroed_bytes);
    device.synchronize(nullptr);  // the stream does not wait for uploads

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
  BenchReport report_;
};

constexpr std::array<std::string_view, 2> kProtocolNames{"wall", "call"};

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
