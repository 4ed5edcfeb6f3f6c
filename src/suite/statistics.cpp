// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernelwright/suite/random.hpp"

namespace kw::suite {
namespace {

// Value at quantile q of sorted samples, interpolated.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median_of(std::vector<double>& values) {
  const std::size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle),
                   values.end());
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle] +
          *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle))) /
         2;
}

}  // namespace

Statistics summarize(std::span<const double> samples, int resamples) {
  Statistics s;
  s.count = static_cast<std::int64_t>(samples.size());
  if (samples.empty()) return s;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  s.min = sorted.front();
  s.max = sorted.back();
  s.median = quantile(sorted, 0.5);
  s.p95 = quantile(sorted, 0.95);
  std::vector<double> work(sorted.size());
  std::transform(sorted.begin(), sorted.end(), work.begin(),
                 [&](double v) { return std::fabs(v - s.median); });
  s.mad = 1.4826 * median_of(work);

  RandomStream random(0x626f6f74);
  std::vector<double> medians;
  for (int r = 0; r < resamples; ++r) {
    for (double& value : work) value = sorted[random.below(sorted.size())];
    medians.push_back(median_of(work));
  }
  std::sort(medians.begin(), medians.end());
  if (!medians.empty()) {
    s.ci_low = quantile(medians, 0.025);
    s.ci_high = quantile(medians, 0.975);
  }
  return s;
}

}  // namespace kw::suite
