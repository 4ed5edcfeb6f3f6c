// SPDX-License-Identifier: Apache-2.0
// Robust statistics of timing samples: no sample is ever dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace kw::suite {

struct Statistics {
  std::int64_t count = 0;
  double min = 0, p05 = 0, median = 0, p95 = 0, max = 0;
  double mad = 0;  // median absolute deviation times 1.4826: a standard deviation for normal noise
  double iqr = 0;  // third quartile less first
  double ci_low = 0, ci_high = 0;  // bootstrap 95 % interval of the median
  double autocorrelation = 0;      // of each sample with the next: 1 for drift, 0 for noise
  bool bimodal = false;            // two groups, each at least a tenth of the samples
  std::string stop_reason;         // "ci", "time", "samples"

  // Half the interval relative to the median.
  double ci_half_width() const noexcept { return median > 0 ? (ci_high - ci_low) / 2 / median : 0; }
};

// `samples` in the order of time. `resamples` bootstrap draws from a fixed random stream: equal
// samples give equal statistics.
Statistics summarize(std::span<const double> samples, int resamples = 1000);

// Of what is not empty; the mean of the two in the middle of an even number.
double median_of(std::span<const double> values);

struct Interval {
  double low = 0, high = 0;
};
// Bootstrap interval of `statistic`, which gets as many draws with replacement as there are values.
Interval bootstrap(std::span<const double> values, double confidence, int resamples,
                   const std::function<double(std::span<double>)>& statistic);
// The same of the median.
Interval bootstrap_median(std::span<const double> values, double confidence, int resamples);

// "12.34 us", "142.5 ns", "3.250 ms".
std::string duration_text(double ns);

}  // namespace kw::suite
