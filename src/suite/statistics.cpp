// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/statistics.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "kernelwright/suite/random.hpp"

namespace kw::suite {
namespace {

constexpr double kNormal = 1.4826;  // standard deviations of normal noise in one MAD
// Two modes: a gap of so many MADs of the wider side, and of this share of the median, ...
constexpr double kGapMads = 6, kGapShare = 0.01;
constexpr double kModeShare = 0.1;  // ... with at least this share of the samples on each side

// Value at quantile q of sorted samples, interpolated.
double quantile(std::span<const double> sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// Reorders `values`.
double median_in_place(std::span<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double deviation(std::span<const double> sorted) {
  const double median = quantile(sorted, 0.5);
  std::vector<double> distances(sorted.size());
  std::transform(sorted.begin(), sorted.end(), distances.begin(),
                 [&](double v) { return std::fabs(v - median); });
  return kNormal * median_in_place(distances);
}

bool has_two_modes(std::span<const double> sorted) {
  const auto least = static_cast<std::size_t>(
      std::max(2.0, std::ceil(kModeShare * static_cast<double>(sorted.size()))));
  std::size_t at = 0;
  double gap = 0;
  for (std::size_t i = least; i + least <= sorted.size(); ++i) {
    if (sorted[i] - sorted[i - 1] <= gap) continue;
    gap = sorted[i] - sorted[i - 1];
    at = i;
  }
  if (at == 0 || gap <= kGapShare * quantile(sorted, 0.5)) return false;
  return gap > kGapMads * std::max(deviation(sorted.first(at)), deviation(sorted.subspan(at)));
}

double lag_one(std::span<const double> samples) {
  double mean = 0;
  for (const double v : samples) mean += v / static_cast<double>(samples.size());
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    squares += (samples[i] - mean) * (samples[i] - mean);
    if (i > 0) products += (samples[i] - mean) * (samples[i - 1] - mean);
  }
  const double rounding = 1e-24 * mean * mean * static_cast<double>(samples.size());
  return squares > rounding ? products / squares : 0;
}

}  // namespace

double median_of(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return median_in_place(copy);
}

Interval bootstrap(std::span<const double> values, double confidence, int resamples,
                   const std::function<double(std::span<double>)>& statistic) {
  if (values.empty() || resamples <= 0) return {};
  RandomStream random(0x626f6f74);
  std::vector<double> work(values.size()), results;
  for (int r = 0; r < resamples; ++r) {
    for (double& value : work) value = values[random.below(values.size())];
    results.push_back(statistic(work));
  }
  std::sort(results.begin(), results.end());
  return {quantile(results, (1 - confidence) / 2), quantile(results, (1 + confidence) / 2)};
}

Interval bootstrap_median(std::span<const double> values, double confidence, int resamples) {
  return bootstrap(values, confidence, resamples, median_in_place);
}

Statistics summarize(std::span<const double> samples, int resamples) {
  Statistics s;
  s.count = static_cast<std::int64_t>(samples.size());
  if (samples.empty()) return s;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  s.min = sorted.front();
  s.p05 = quantile(sorted, 0.05);
  s.median = quantile(sorted, 0.5);
  s.p95 = quantile(sorted, 0.95);
  s.max = sorted.back();
  s.iqr = quantile(sorted, 0.75) - quantile(sorted, 0.25);
  s.mad = deviation(sorted);
  s.autocorrelation = lag_one(samples);
  s.bimodal = has_two_modes(sorted);
  const Interval interval = bootstrap_median(sorted, 0.95, resamples);
  s.ci_low = interval.low;
  s.ci_high = interval.high;
  return s;
}

std::string duration_text(double ns) {
  if (ns >= 1e6) return fmt::format("{:.3f} ms", ns * 1e-6);
  if (ns >= 1e3) return fmt::format("{:.2f} us", ns * 1e-3);
  return fmt::format("{:.1f} ns", ns);
}

}  // namespace kw::suite
