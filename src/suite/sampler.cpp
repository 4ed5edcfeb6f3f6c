// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/sampler.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace kw::suite {
namespace {

constexpr double kMinSampleNs = 20e3;
constexpr int kMaxGroup = 100000;
// Enough to decide whether to stop; the reported interval uses the full number.
constexpr int kQuickResamples = 200;

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

void sample_until_known(Timing& timing, const StoppingRule& rule,
                        const std::function<double()>& sample) {
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
  timing.nanoseconds = summarize(timing.samples);
  timing.nanoseconds.stop_reason = reason;
}

}  // namespace

Timing collect_samples(std::string protocol, const StoppingRule& rule,
                       const std::function<double()>& sample) {
  Timing timing;
  timing.protocol = std::move(protocol);
  for (int i = 0; i < rule.warmup; ++i) sample();
  sample_until_known(timing, rule, sample);
  return timing;
}

Timing take_samples(std::string protocol, const StoppingRule& rule,
                    const std::function<void(std::int64_t)>& call) {
  Timing timing;
  timing.protocol = std::move(protocol);
  std::int64_t next = 0;
  for (int i = 0; i < rule.warmup; ++i) call(next++);

  // Grows the group until it lasts long enough; those calls warm up further.
  for (int group = 1; group < kMaxGroup;) {
    const auto start = Clock::now();
    for (int i = 0; i < group; ++i) call(next++);
    const double ns = ns_since(start);
    timing.calls_per_sample = group;
    if (ns >= kMinSampleNs) break;
    group = ns <= 0 ? group * 10
                    : std::min<int>(kMaxGroup,
                                    static_cast<int>(std::ceil(
                                        group * std::clamp(1.2 * kMinSampleNs / ns, 1.5, 10.0))));
  }

  sample_until_known(timing, rule, [&] {
    const auto sample = Clock::now();
    for (int i = 0; i < timing.calls_per_sample; ++i) call(next++);
    return ns_since(sample) / timing.calls_per_sample;
  });
  return timing;
}

}  // namespace kw::suite
