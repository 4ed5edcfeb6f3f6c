// SPDX-License-Identifier: Apache-2.0
// Robust statistics of timing samples: no sample is ever dropped.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace kw::suite {

struct Statistics {
  std::int64_t count = 0;
  double min = 0, median = 0, p95 = 0, max = 0;
  double mad = 0;  // median absolute deviation times 1.4826: a standard deviation for normal noise
  double ci_low = 0, ci_high = 0;  // bootstrap 95 % interval of the median
  std::string stop_reason;         // "ci", "time", "samples"

  // Half the interval relative to the median.
  double ci_half_width() const noexcept { return median > 0 ? (ci_high - ci_low) / 2 / median : 0; }
};

// `resamples` bootstrap draws from a fixed random stream: equal samples give equal statistics.
Statistics summarize(std::span<const double> samples, int resamples = 1000);

}  // namespace kw::suite
