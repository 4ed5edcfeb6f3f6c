// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/tune/race.hpp"

#include <algorithm>
#include <chrono>

#include "kernelwright/base/error.hpp"
#include "kernelwright/suite/statistics.hpp"
#include "kernelwright/tune/verify.hpp"

namespace kw::tune {
namespace {

constexpr std::int64_t kSampleCalls = 32;  // at least, as the start of a replay takes 5 us or so
constexpr std::int64_t kFewRunners = 16;   // that together walk all sets in a round

std::int64_t set_count(const suite::Case& spec, const suite::Platform& platform) {
  return suite::cold_rotation(
      problem_bytes(spec.problem),
      static_cast<double>(platform.device.hardware().last_level_cache_bytes));
}

// Calls of a sample. Each runner has a stretch of the sets to itself, so that between two of its
// samples the others go over more memory than a cache holds, however small the problem.
std::int64_t calls_for(std::int64_t sets) {
  if (sets <= kSampleCalls) return (kSampleCalls + sets - 1) / sets * sets;
  return std::max(kSampleCalls, (sets + kFewRunners - 1) / kFewRunners);
}

}  // namespace

struct Race::Runner {
  suite::TargetRunner* target = nullptr;
  std::int64_t first = 0;                 // of its calls: which set
  std::unique_ptr<runtime::Graph> graph;  // where the device has graphs
  std::vector<double> samples;
  bool running = true;
  std::string error;
};

Race::Race(const suite::Case& spec, const suite::Platform& platform)
    : spec_(spec),
      platform_(platform),
      stream_(platform.device),
      sets_(spec, set_count(spec, platform), platform),
      calls_(calls_for(sets_.count())) {
  if (!platform.device.has_graphs()) return;
  begin_ = platform.device.create_event();
  end_ = platform.device.create_event();
}

void Race::enter(Runner& runner) {
  suite::BoundImplementation& bound = runner.target->bound();
  const WorkspaceSize workspace = bound.prepare(spec_.problem);
  if (begin_ == nullptr) return;
  // The same for every geometry, so that what graphs have captured stays where it is.
  if (workspace.bytes > 0)
    platform_.device.reserve_workspace(stream_.handle(), workspace.bytes, workspace.zeroed_bytes);
  platform_.device.synchronize(nullptr);  // the stream does not wait for uploads
  runtime::Capture capture(platform_.device, stream_.handle());
  for (std::int64_t n = 0; n < calls_; ++n)
    throw_if_failed(bound.call_on(sets_.arguments(runner.first + n), stream_.handle()));
  runner.graph = capture.finish();
}

double Race::sample(Runner& runner) {
  const auto calls = static_cast<double>(calls_);
  if (runner.graph != nullptr) {
    begin_->record(stream_.handle());
    runner.graph->launch(stream_.handle());
    end_->record(stream_.handle());
    end_->synchronize();
    return end_->elapsed_ns_since(*begin_) / calls;
  }
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (std::int64_t n = 0; n < calls_; ++n)
    throw_if_failed(runner.target->bound().call(sets_.arguments(runner.first + n)));
  platform_.device.synchronize(nullptr);
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls;
}

std::vector<Lap> Race::run(const std::vector<suite::TargetRunner*>& targets, const RaceRule& rule) {
  std::vector<Runner> runners(targets.size());
  const auto guarded = [&](Runner& runner, const auto& step) {
    try {
      step();
    } catch (const Error& error) {
      runner.error = error.what();
      runner.running = false;
      runner.samples.clear();
      require_alive(platform_.device, runner.error,
                    problem_text(spec_.problem) + " " + runner.target->bound().specialization());
    }
  };
  for (std::size_t i = 0; i < targets.size(); ++i) {
    runners[i].target = targets[i];
    runners[i].first = static_cast<std::int64_t>(i) * calls_;
    guarded(runners[i], [&] { enter(runners[i]); });
  }
  const auto cut = [&](double factor) {
    double fastest = 0;
    for (const Runner& runner : runners) {
      if (!runner.running) continue;
      const double ns = suite::median_of(runner.samples);
      if (fastest == 0 || ns < fastest) fastest = ns;
    }
    for (Runner& runner : runners) {
      if (runner.running && suite::median_of(runner.samples) > factor * fastest)
        runner.running = false;
    }
  };
  for (int round = 0; round < rule.rounds; ++round) {
    for (std::size_t i = 0; i < runners.size(); ++i) {
      // Every other round backwards, so that nobody always follows the same neighbour.
      Runner& runner = runners[round % 2 == 0 ? i : runners.size() - 1 - i];
      if (!runner.running) continue;
      guarded(runner, [&] {
        if (round == 0) sample(runner);  // warms up
        runner.samples.push_back(sample(runner));
      });
    }
    if (round == 0) cut(rule.first_cut);
    if (round + 1 == kScreenRounds) cut(rule.second_cut);
  }
  std::vector<Lap> laps;
  for (const Runner& runner : runners) {
    Lap lap;
    lap.samples = static_cast<int>(runner.samples.size());
    lap.error = runner.error;
    if (lap.samples > 0) lap.ns = suite::median_of(runner.samples);
    laps.push_back(std::move(lap));
  }
  return laps;
}

}  // namespace kw::tune
