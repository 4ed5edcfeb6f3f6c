// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/comparison.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/runtime/facilities.hpp"
#include "kernelwright/suite/buffer_sets.hpp"
#include "kernelwright/suite/protocol_timer.hpp"
#include "kernelwright/suite/roof.hpp"
#include "kernelwright/suite/roof_copy.hpp"
#include "kernelwright/suite/roofline.hpp"
#include "kernelwright/suite/runner.hpp"
#include "kernelwright/suite/watch.hpp"

namespace kw::suite {
namespace {

constexpr double kBlockNs = 5e6;  // of a block, within kMinBlock and kMaxBlock samples
constexpr double kWarmNs = 0.2e9;
constexpr double kWholeBytes = 1e9;  // of host memory: what is larger is judged by slices
constexpr int kRepeats = 2;

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// One side ready to be timed.
class Side {
 public:
  explicit Side(runtime::Device& device) : device_(device), stream_(device) {}
  void* stream() const noexcept { return stream_.handle(); }

  // Calls of both sides walk on through the same rotation: what one left in a cache is no help to
  // the other. A graph walks it as a whole.
  void ready(Enqueue enqueue, std::int64_t sets, std::int64_t& next) {
    next_ = &next;
    enqueue_ = std::move(enqueue);
    if (device_.has_graphs()) {
      sample_ = replayed(device_, stream_.handle(), enqueue_, calls_for(sets));
      return;
    }
    calls_ = calls_per_sample([this](std::int64_t n) { call(n); }, next);
    group(calls_);
  }
  int calls() const noexcept { return calls_; }
  void group(int calls) {
    sample_ = waited(
        device_, stream_.handle(),
        [this](std::int64_t, void* stream) { return enqueue_((*next_)++, stream); }, calls);
  }

  double sample() { return sample_(); }
  double block(int samples) {
    runtime::reset_persisting(device_);
    std::vector<double> times(static_cast<std::size_t>(samples));
    for (double& time : times) time = sample_();
    return median_of(times);
  }

 private:
  void call(std::int64_t n) {
    throw_if_failed(enqueue_(n, stream_.handle()));
    device_.synchronize(stream_.handle());
  }

  runtime::Device& device_;
  const runtime::OwnedStream stream_;
  std::int64_t* next_ = nullptr;
  Enqueue enqueue_;
  Sample sample_;
  int calls_ = 1;
};

class CompareRun {
 public:
  CompareRun(const CompareRequest& request, const Platform& platform,
             const std::function<void(const ComparisonRow&)>& progress)
      : request_(request), platform_(platform), progress_(progress) {
    report_.a = request.a;
    report_.b = request.b;
  }

  CompareReport run() {
    const Fill fill = parse_fill(request_.fill);
    const double memory =
        std::min(0.6 * static_cast<double>(platform_.device.memory_info().free_bytes),
                 platform_.kernels != nullptr ? kWholeBytes : 1e18);
    struct Match {
      std::unique_ptr<TargetRunner> a, b;  // a: null for the copy
      std::vector<Problem> problems;
    };
    std::vector<Match> matches;
    for (const auto& [a, b] : matched_targets()) {
      Match match;
      if (!against_copy())
        match.a = std::make_unique<TargetRunner>(a, request_, platform_, kRepeats, memory);
      match.b = std::make_unique<TargetRunner>(b, request_, platform_, kRepeats, memory);
      match.problems = find_problems(request_, platform_, *b.operation->contract);
      matches.push_back(std::move(match));
    }
    measure_limits();
    std::int64_t index = 0;
    for (Match& match : matches) {
      for (const Problem& problem : match.problems) {
        if (index++ % request_.shards != request_.shard) continue;
        report_.rows.push_back(row(match.a.get(), *match.b, {problem, fill, request_.seed}));
        if (progress_) progress_(report_.rows.back());
      }
    }
    return std::move(report_);
  }

 private:
  bool against_copy() const { return request_.a == kCopy; }

  std::vector<std::pair<Target, Target>> matched_targets() const {
    Request of_a = request_, of_b = request_;
    of_b.implementation = request_.b;
    of_a.implementation = against_copy() ? request_.b : request_.a;
    const std::vector<Target> all_a = find_targets(of_a, platform_);
    const std::vector<Target> all_b = find_targets(of_b, platform_);
    std::vector<std::pair<Target, Target>> matches;
    for (const Target& a : all_a) {
      for (const Target& b : all_b) {
        if (a.operation == b.operation) matches.emplace_back(a, b);
      }
    }
    if (matches.empty()) {
      fail(Code::kInvalidArgument,
           "'{}' computes {} and '{}' computes {}; two implementations of one operation can be "
           "compared",
           request_.a, all_a.front().operation->contract->operation, request_.b,
           all_b.front().operation->contract->operation);
    }
    return matches;
  }

  void measure_limits() {
    report_.roof = measure_roofs(platform_.device, platform_.kernels.get());
    const Protocol protocol =
        platform_.device.has_graphs() ? Protocol::kGraph : Protocol::kWallSync;
    report_.floors = ProtocolTimer(platform_, {}).measure_floors({protocol});
  }

  ComparisonRow row(TargetRunner* a, TargetRunner& b, const Case& spec) {
    ComparisonRow row;
    row.operation = spec.problem.operation();
    row.problem = problem_text(spec.problem);
    row.fill = fill_name(spec.fill);
    row.protocol = std::string(platform_.device.has_graphs() ? "graph" : "wall") +
                   (request_.hot ? "_hot" : "_cold");
    row.a = a == nullptr ? kCopy : a->bound().implementation().info.name;
    row.b = b.bound().implementation().info.name;
    for (TargetRunner* side : {a, &b}) {
      if (side == nullptr) continue;
      const CaseResult judged = side->run(spec);
      if (judged.status == CaseStatus::kPassed) continue;
      row.status = judged.status;
      row.reason = judged.reason;
      row.message = judged.implementation + ": " + judged.message + "; " + judged.repro;
      return row;
    }
    try {
      time(a, b, spec, row);
    } catch (const Error& error) {
      row.status = CaseStatus::kError;
      row.reason = Reason::kDeviceError;
      row.message = std::string("while timing: ") + error.what();
    }
    return row;
  }

  void time(TargetRunner* a, TargetRunner& b, const Case& spec, ComparisonRow& row) {
    const double bytes = problem_bytes(spec.problem);
    const std::int64_t count = request_.hot ? 1 : affordable_rotation(bytes, platform_.device);
    const BufferSets sets(spec, count, platform_);
    std::optional<RoofCopy> copy;
    Side side_a(platform_.device), side_b(platform_.device);
    std::int64_t next = 0;
    if (a == nullptr) {
      copy.emplace(platform_.device, report_.roof, bytes, count);
      side_a.ready([&](std::int64_t n, void* stream) { return copy->enqueue(n, stream); }, count,
                   next);
    } else {
      ready(side_a, *a, spec, sets, next);
    }
    ready(side_b, b, spec, sets, next);
    if (!platform_.device.has_graphs()) {
      const int calls = std::max(side_a.calls(), side_b.calls());
      side_a.group(calls);
      side_b.group(calls);
    }
    row.block_samples = warm_up(side_a, side_b);

    Timing block;
    const auto start = Clock::now();
    if (platform_.monitor != nullptr) block.before = platform_.monitor->read();
    row.pairs =
        take_pairs([&](int n) { return side_a.block(n); }, [&](int n) { return side_b.block(n); },
                   row.block_samples, request_.rule);
    block.seconds = ns_since(start) * 1e-9;
    if (platform_.monitor != nullptr) block.after = platform_.monitor->read();
    add_flags_of_block(block);
    row.flags = std::move(block.flags);
    flag(row, bytes, static_cast<double>(count) * bytes);
    conclude_row(row, request_.rule);
  }

  // Both sides share `sets`.
  void ready(Side& side, TargetRunner& runner, const Case& spec, const BufferSets& sets,
             std::int64_t& next) const {
    runner.bound().prepare(spec.problem);
    runner.bound().reserve(side.stream());
    side.ready([&](std::int64_t n,
                   void* stream) { return runner.bound().call_on(sets.arguments(n), stream); },
               sets.count(), next);
  }

  // Samples that a block needs, by the slower side.
  int warm_up(Side& a, Side& b) const {
    const auto start = Clock::now();
    std::vector<double> of_a, of_b;
    while (static_cast<int>(of_a.size()) < kMinBlock || ns_since(start) < kWarmNs) {
      auto sample = Clock::now();
      a.sample();
      of_a.push_back(ns_since(sample));
      sample = Clock::now();
      b.sample();
      of_b.push_back(ns_since(sample));
    }
    const double slower = std::max(median_of(of_a), median_of(of_b));
    return std::clamp(static_cast<int>(kBlockNs / std::max(slower, 1.0)), kMinBlock, kMaxBlock);
  }

  void flag(ComparisonRow& row, double bytes, double working_set) const {
    const double fastest = std::min(median_of(row.pairs.a), median_of(row.pairs.b));
    for (const auto& [protocol, ns] : report_.floors) {
      if (protocol == row.protocol && fastest < kFloors * ns)
        row.flags.emplace_back(reason_name(Reason::kBelowFloor));
    }
    const auto cache = static_cast<double>(platform_.device.hardware().last_level_cache_bytes);
    if (request_.hot) return;
    if (working_set < kColdFactor * cache)
      row.flags.emplace_back("not_cold");
    else if (bytes / fastest > kImplausible * report_.roof.fastest())
      row.flags.emplace_back(reason_name(Reason::kImplausibleSpeed));
  }

  const CompareRequest& request_;
  const Platform& platform_;
  const std::function<void(const ComparisonRow&)>& progress_;
  CompareReport report_;
};

}  // namespace

void conclude_row(ComparisonRow& row, const PairRule& rule) {
  row.result = compare_pairs(row.pairs, rule);
  row.a_ns = median_of(row.pairs.a);
  row.b_ns = median_of(row.pairs.b);
  row.drift = row.pairs.a.back() / row.pairs.a.front();
  for (const Reason reason : {Reason::kBelowFloor, Reason::kImplausibleSpeed}) {
    if (std::find(row.flags.begin(), row.flags.end(), reason_name(reason)) != row.flags.end())
      row.result.verdict = Verdict::kAmbiguous;
  }
}

int CompareReport::count(Verdict verdict) const noexcept {
  return static_cast<int>(std::count_if(rows.begin(), rows.end(), [&](const ComparisonRow& row) {
    return row.compared() && row.result.verdict == verdict;
  }));
}

int CompareReport::regressions() const noexcept {
  return static_cast<int>(std::count_if(
      rows.begin(), rows.end(), [](const ComparisonRow& row) { return row.is_regression(); }));
}

Counts CompareReport::counts() const {
  std::vector<CaseResult> cases;
  for (const ComparisonRow& row : rows) {
    CaseResult result;
    result.status = row.status;
    result.reason = row.reason;
    cases.push_back(std::move(result));
  }
  Counts counts = suite::count(cases);
  if (const int slower = regressions(); slower > 0)
    counts.by_reason.emplace_back(reason_name(Reason::kRegression), slower);
  return counts;
}

int CompareReport::exit_code() const {
  const int code = counts().exit_code();
  return code == 0 && regressions() > 0 ? 1 : code;
}

CompareReport run_compare(const CompareRequest& request, const Platform& platform,
                          const std::function<void(const ComparisonRow&)>& progress) {
  if (request.b == kCopy) {
    fail(Code::kInvalidArgument,
         "'{0}' is not an implementation but a baseline: write it first, kw compare {0} {1}", kCopy,
         request.a);
  }
  HeaderDraft header("compare", request, platform.device);
  CompareReport report = CompareRun(request, platform, progress).run();
  report.header = header.finish(request.a + " against " + request.b);
  if (platform.monitor != nullptr) {
    for (auto& fact : platform.monitor->facts())
      report.header.environment.push_back(std::move(fact));
  }
  return report;
}

}  // namespace kw::suite
