// SPDX-License-Identifier: Apache-2.0
// Times what passed: roofs and floors first, then every row, then whether what was timed still
// computes.
#include <algorithm>
#include <memory>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/runtime/facilities.hpp"
#include "kernelwright/suite/buffer_sets.hpp"
#include "kernelwright/suite/protocol_timer.hpp"
#include "kernelwright/suite/random.hpp"
#include "kernelwright/suite/roof.hpp"
#include "kernelwright/suite/roofline.hpp"
#include "kernelwright/suite/run.hpp"
#include "kernelwright/suite/runner.hpp"

namespace kw::suite {
namespace {

constexpr double kWholeBytes = 1e9;    // of host memory: what is larger is judged by slices
constexpr double kJudgedBytes = 25e7;  // the same of a timed call that is judged again
constexpr std::uint64_t kOtherSeed = 0x51ed270b;
constexpr double kMaxWarmSeconds = 3, kMaxHostWarmSeconds = 0.5;

std::vector<Protocol> protocols_of(const BenchRequest& request, const runtime::Device& device) {
  if (request.protocols.empty()) {
    if (!device.has_graphs()) return {Protocol::kWallSync, Protocol::kCall};
    return {Protocol::kGraph, Protocol::kDeviceCold, Protocol::kHostEnqueue, Protocol::kWallSync};
  }
  for (const Protocol protocol : request.protocols) {
    if (device.has_graphs() || !needs_graphs(protocol)) continue;
    fail(Code::kUnsupported,
         "protocol '{}' needs a device with streams and graphs; {} has wall_sync and call",
         protocol_name(protocol), device.name());
  }
  return request.protocols;
}

StoppingRule rule_of(const BenchRequest& request, const runtime::Device& device) {
  StoppingRule rule;
  rule.warmup = request.warmup;
  rule.iterations = request.iterations;
  rule.confidence = request.confidence;
  rule.min_samples = request.min_samples;
  rule.max_seconds = request.max_seconds;
  rule.min_warm_seconds = 0.2;
  rule.max_warm_seconds = device.has_graphs() ? kMaxWarmSeconds : kMaxHostWarmSeconds;
  return rule;
}

bool changes_inputs(const Problem& problem) {
  const std::vector<Operand> operands = operands_of(problem);
  return std::any_of(operands.begin(), operands.end(),
                     [](const Operand& operand) { return operand.role == Role::kMutated; });
}

class BenchRun {
 public:
  BenchRun(const BenchRequest& request, const Platform& platform)
      : request_(request),
        platform_(platform),
        protocols_(protocols_of(request, platform.device)),
        timer_(platform, rule_of(request, platform.device)) {}

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
    report_.roof = measure_roofs(platform_.device, platform_.kernels.get());
    report_.floors = timer_.measure_floors(protocols_);
    std::int64_t index = 0;
    for (std::size_t t = 0; t < targets.size(); ++t) {
      for (const Problem& problem : problems[t]) {
        if (index++ % request_.shards != request_.shard) continue;
        if (request_.interrupted && request_.interrupted()) {
          report_.header.complete = false;
          return std::move(report_);
        }
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
    if (changes_inputs(spec.problem)) {
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
    runtime::reset_persisting(platform_.device);
    BufferSets sets(spec, affordable_rotation(row.bytes, platform_.device), platform_);
    const runtime::OwnedStream stream = ready_stream(runner, spec.problem);
    Work work;
    work.enqueue = [&](std::int64_t n, void* on) {
      return runner.bound().call_on(sets.arguments(n), on);
    };
    work.sets = sets.count();
    work.stream = stream.handle();
    work.bytes = row.bytes;
    for (const Protocol protocol : protocols_) {
      if (protocol == Protocol::kCall) {
        time_call(runner, spec, row);
        ready(runner, spec.problem, stream.handle());  // what follows is of the whole again
        continue;
      }
      for (Timing& timing : timer_.time(protocol, work)) row.timings.push_back(std::move(timing));
    }
    if (judge_again(runner, spec, sets, stream.handle(), row)) conclude(row);
  }

  // A stream of its own, with workspace for calls of `problem`.
  runtime::OwnedStream ready_stream(TargetRunner& runner, const Problem& problem) {
    runtime::OwnedStream stream(platform_.device);
    ready(runner, problem, stream.handle());
    return stream;
  }

  void ready(TargetRunner& runner, const Problem& problem, void* stream) {
    runner.bound().prepare(problem);
    runner.bound().reserve(stream);
  }

  // On a synchronous device nothing separates the host's share from the work but an empty call,
  // which is then the floor of the row's other figures.
  void time_call(TargetRunner& runner, const Case& spec, BenchRow& row) {
    if (!has_batch(spec.problem)) return;
    const Case empty{batch_prefix(spec.problem, 0), spec.fill, spec.seed};
    if (!runner.accepts(empty.problem)) return;
    BufferSets sets(empty, 1, platform_);
    const runtime::OwnedStream stream = ready_stream(runner, empty.problem);
    Work work;
    work.enqueue = [&](std::int64_t, void* on) {
      return runner.bound().call_on(sets.arguments(0), on);
    };
    work.stream = stream.handle();
    row.timings.push_back(timer_.time_waited("call", work));
    if (platform_.device.has_graphs()) return;
    const double floor = row.timings.back().nanoseconds.median;
    for (Timing& timing : row.timings) {
      if (timing.protocol != "call") timing.floor_ns = std::max(timing.floor_ns, floor);
    }
  }

  // What was timed has to compute: every set holds the same outputs after its calls, and a call on
  // one of them, chosen at random, whose inputs changed in place, answers for the new ones.
  bool judge_again(TargetRunner& runner, const Case& spec, BufferSets& sets, void* stream,
                   BenchRow& row) {
    const auto call = [&](std::int64_t n) {
      throw_if_failed(runner.bound().call_on(sets.arguments(n), stream));
      platform_.device.synchronize(stream);
    };
    const auto fail_row = [&](Reason reason, std::string message) {
      row.timings.clear();
      row.numerics.status = CaseStatus::kFailed;
      row.numerics.reason = reason;
      row.numerics.message = std::move(message);
      return false;
    };
    for (std::int64_t n = 0; n < sets.count(); ++n) call(n);
    if (runner.bound().implementation().info.deterministic && !sets.outputs_agree())
      return fail_row(Reason::kNondeterministic,
                      "calls on equal inputs gave other outputs while timing");
    if (case_bytes(spec.problem) > kJudgedBytes) return true;
    Case other = spec;
    other.seed = spec.seed + kOtherSeed;
    const auto chosen = static_cast<std::int64_t>(
        RandomStream(spec.seed).below(static_cast<std::uint64_t>(sets.count())));
    const std::string wrong =
        sets.judge_anew(chosen, other, platform_.catalog, [&] { call(chosen); });
    if (wrong.empty()) return true;
    return fail_row(Reason::kStaleReplay,
                    "right before timing, wrong after its inputs changed in place: " + wrong);
  }

  void conclude(BenchRow& row) {
    add_roofline(row, report_.roof, platform_.device.hardware());
    if (!is_implausible(row, report_.roof)) return;
    // A neighbour may have held the roof down; what is too fast for the roof of this moment is.
    const Roof again = measure_roofs(platform_.device, platform_.kernels.get());
    if (again.fastest() > report_.roof.fastest()) report_.roof = again;
    add_roofline(row, report_.roof, platform_.device.hardware());
    if (!is_implausible(row, report_.roof)) return;
    row.flags.emplace_back(reason_name(Reason::kImplausibleSpeed));
    row.numerics.status = CaseStatus::kFailed;
    row.numerics.reason = Reason::kImplausibleSpeed;
    row.numerics.message = implausible_text(row, report_.roof);
  }

  const BenchRequest& request_;
  const Platform& platform_;
  const std::vector<Protocol> protocols_;
  ProtocolTimer timer_;
  BenchReport report_;
};

}  // namespace

BenchReport run_bench(const BenchRequest& request, const Platform& platform) {
  HeaderDraft header("bench", request, platform.device);
  BenchReport report = BenchRun(request, platform).run();
  const bool complete = report.header.complete;
  report.header = header.finish(describe_request(request));
  report.header.complete = complete;
  if (platform.monitor != nullptr) {
    for (auto& fact : platform.monitor->facts())
      report.header.environment.push_back(std::move(fact));
  }
  return report;
}

}  // namespace kw::suite
