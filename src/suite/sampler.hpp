// SPDX-License-Identifier: Apache-2.0
// Takes timing samples until the median is known well enough.
#pragma once

#include <functional>

#include "kernelwright/suite/report.hpp"

namespace kw::suite {

struct StoppingRule {
  int warmup = 3;             // calls before the first sample
  int iterations = 0;         // > 0: exactly so many samples
  double confidence = 0.005;  // half width of the median's interval
  int min_samples = 20;
  int max_samples = 10000;
  double max_seconds = 2;
  // With a stopping rule, samples are thrown away first until their median stands still: at least
  // so long, and no longer than the maximum. 0: not at all.
  double min_warm_seconds = 0, max_warm_seconds = 0;
};

// `call(n)` makes the n-th call and waits for it. Short calls are grouped into samples of at least
// 20 us, a thousand times the resolution of the clock. Fills in samples, statistics,
// calls_per_sample, seconds. An exception of `call` passes through. `monitor`, where given, is read
// before the first sample and after the last.
Timing take_samples(std::string protocol, const StoppingRule& rule,
                    const std::function<void(std::int64_t)>& call,
                    runtime::Monitor* monitor = nullptr);

// Where one sample is what `sample()` returns: nanoseconds per call, by another clock.
Timing collect_samples(std::string protocol, const StoppingRule& rule,
                       const std::function<double()>& sample, runtime::Monitor* monitor = nullptr);

// Two samples in turns, in an order drawn anew each round, so that drift and neighbours meet both.
struct PairedTimings {
  Timing first, second, difference;  // of the first less the second, round by round
};
PairedTimings collect_pairs(const StoppingRule& rule, const std::function<double()>& first,
                            const std::function<double()>& second,
                            runtime::Monitor* monitor = nullptr);

// The same in steps, for callers that take samples in an order of their own: makes calls and
// returns how many a sample needs.
int calls_per_sample(const std::function<void(std::int64_t)>& call, std::int64_t& next);

}  // namespace kw::suite
