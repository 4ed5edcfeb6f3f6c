// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/sampler.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "kernelwright/suite/random.hpp"
#include "kernelwright/suite/watch.hpp"

namespace kw::suite {
namespace {

constexpr double kMinSampleNs = 20e3;
constexpr int kMaxGroup = 100000;
// Enough to decide whether to stop; the reported interval uses the full number.
constexpr int kQuickResamples = 200;
// Warm when the medians of two neighbouring windows agree.
constexpr double kWindowSeconds = 0.1, kStill = 0.005;
constexpr std::size_t kWindowSamples = 8;

// Rounds of two ways that take turns: the interval of a median difference is then a few ns. Of long
// kernels, whose end each round waits for (22 ms of them in a round of a 170 us kernel), as many as
// fit into the rule's time, at least kFewestPairs.
constexpr int kPairs = 1000, kFewestPairs = 100;

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

void warm_up(const StoppingRule& rule, const std::function<double()>& sample) {
  if (rule.iterations > 0 || rule.max_warm_seconds <= 0) return;
  const auto start = Clock::now();
  for (double last = 0;;) {
    const auto window = Clock::now();
    std::vector<double> samples;
    while (samples.size() < kWindowSamples || ns_since(window) < kWindowSeconds * 1e9) {
      samples.push_back(sample());
      if (ns_since(start) > rule.max_warm_seconds * 1e9) return;
    }
    const double median = median_of(samples);
    const bool still = last > 0 && std::fabs(median - last) <= kStill * last;
    if (still && ns_since(start) >= rule.min_warm_seconds * 1e9) return;
    last = median;
  }
}

void conclude(Timing& timing, const std::string& reason) {
  if (timing.after) add_flags_of_block(timing);
  timing.nanoseconds = summarize(timing.samples);
  timing.nanoseconds.stop_reason = reason;
  if (timing.nanoseconds.bimodal) timing.flags.emplace_back("bimodal");
}

void sample_until_known(Timing& timing, const StoppingRule& rule,
                        const std::function<double()>& sample, runtime::Monitor* monitor) {
  warm_up(rule, sample);
  if (monitor != nullptr) timing.before = monitor->read();
  const auto start = Clock::now();
  int next_check = rule.min_samples;
  std::string reason;
  while (reason.empty()) {
    timing.samples.push_back(sample());
    const int count = static_cast<int>(timing.samples.size());
    if (rule.iterations > 0) {
      if (count >= rule.iterations) reason = "samples";
    } else if (ns_since(start) > rule.max_seconds * 1e9) {
      reason = "time";
    } else if (count >= rule.max_samples) {
      reason = "samples";
    } else if (count >= next_check) {
      if (summarize(timing.samples, kQuickResamples).ci_half_width() <= rule.confidence)
        reason = "ci";
      next_check = count + std::max(count / 4, 1);
    }
  }
  timing.seconds = ns_since(start) * 1e-9;
  if (monitor != nullptr) timing.after = monitor->read();
  conclude(timing, reason);
}

}  // namespace

Timing collect_samples(std::string protocol, const StoppingRule& rule,
                       const std::function<double()>& sample, runtime::Monitor* monitor) {
  Timing timing;
  timing.protocol = std::move(protocol);
  for (int i = 0; i < rule.warmup; ++i) sample();
  sample_until_known(timing, rule, sample, monitor);
  return timing;
}

PairedTimings collect_pairs(const StoppingRule& rule, const std::function<double()>& first,
                            const std::function<double()>& second, runtime::Monitor* monitor) {
  PairedTimings pair;
  for (int i = 0; i < rule.warmup; ++i) {
    first();
    second();
  }
  warm_up(rule, first);
  RandomStream order(name_hash("pairs"));
  const auto start = Clock::now();
  if (monitor != nullptr) pair.first.before = monitor->read();
  const int rounds = rule.iterations > 0 ? rule.iterations : kPairs;
  std::string reason = "samples";
  for (int i = 0; i < rounds; ++i) {
    if (rule.iterations == 0 && i >= kFewestPairs && ns_since(start) > rule.max_seconds * 1e9) {
      reason = "time";
      break;
    }
    const bool swapped = order.below(2) == 1;
    const double early = swapped ? second() : first(), late = swapped ? first() : second();
    pair.first.samples.push_back(swapped ? late : early);
    pair.second.samples.push_back(swapped ? early : late);
    pair.difference.samples.push_back(pair.first.samples.back() - pair.second.samples.back());
  }
  if (monitor != nullptr) pair.first.after = monitor->read();
  for (Timing* timing : {&pair.first, &pair.second, &pair.difference}) {
    timing->seconds = ns_since(start) * 1e-9;
    timing->before = pair.first.before;
    timing->after = pair.first.after;
    conclude(*timing, reason);
  }
  return pair;
}

int calls_per_sample(const std::function<void(std::int64_t)>& call, std::int64_t& next) {
  int group = 1;
  while (group < kMaxGroup) {
    const auto start = Clock::now();
    for (int i = 0; i < group; ++i) call(next++);
    const double ns = ns_since(start);
    if (ns >= kMinSampleNs) break;
    group = ns <= 0 ? group * 10
                    : std::min<int>(kMaxGroup,
                                    static_cast<int>(std::ceil(
                                        group * std::clamp(1.2 * kMinSampleNs / ns, 1.5, 10.0))));
  }
  return group;
}

Timing take_samples(std::string protocol, const StoppingRule& rule,
                    const std::function<void(std::int64_t)>& call, runtime::Monitor* monitor) {
  Timing timing;
  timing.protocol = std::move(protocol);
  std::int64_t next = 0;
  for (int i = 0; i < rule.warmup; ++i) call(next++);
  timing.calls_per_sample = calls_per_sample(call, next);  // those calls warm up further
  const auto sample = [&] {
    const auto start = Clock::now();
    for (int i = 0; i < timing.calls_per_sample; ++i) call(next++);
    return ns_since(start) / timing.calls_per_sample;
  };
  sample_until_known(timing, rule, sample, monitor);
  return timing;
}

}  // namespace kw::suite
