// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/pairing.hpp"

#include <algorithm>

#include "kernelwright/suite/random.hpp"

namespace kw::suite {
namespace {

// Which goes first, balanced within every two.
std::vector<bool> balanced_order(int count, RandomStream& random) {
  std::vector<bool> order;
  while (static_cast<int>(order.size()) < count) {
    const bool first = random.one_in(2);
    order.push_back(first);
    order.push_back(!first);
  }
  order.resize(static_cast<std::size_t>(count));
  return order;
}

}  // namespace

std::string_view verdict_name(Verdict verdict) noexcept {
  constexpr std::string_view kNames[] = {"FASTER", "SLOWER", "SAME", "AMBIGUOUS"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Pairs take_pairs(const Block& a, const Block& b, int samples, const PairRule& rule) {
  RandomStream random(rule.seed);
  const int count = (std::max(rule.pairs, kMinPairs) + 1) / 2 * 2;
  const std::vector<bool> orders = balanced_order(count, random);
  const std::vector<bool> turns = balanced_order(count, random);
  const std::vector<bool> controls_first = balanced_order(count, random);
  Pairs pairs;
  const auto compare = [&](bool a_first) {
    double times[2];
    for (const bool is_a : {a_first, !a_first})
      times[is_a ? 0 : 1] = is_a ? a(samples) : b(samples);
    pairs.a.push_back(times[0]);
    pairs.b.push_back(times[1]);
    pairs.ratios.push_back(times[0] / times[1]);
  };
  const auto control = [&](bool turned) {
    const double first = a(samples), second = a(samples);
    pairs.controls.push_back(turned ? second / first : first / second);
  };
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    if (controls_first[i]) control(turns[i]);
    compare(orders[i]);
    if (!controls_first[i]) control(turns[i]);
  }
  return pairs;
}

Verdict verdict_of(const Interval& interval, double delta) noexcept {
  if (interval.low > 1 + delta) return Verdict::kFaster;
  if (interval.high < 1 - delta) return Verdict::kSlower;
  const bool within = interval.low >= 1 - delta && interval.high <= 1 + delta;
  return within ? Verdict::kSame : Verdict::kAmbiguous;
}

PairComparison compare_pairs(const Pairs& pairs, const PairRule& rule) {
  PairComparison result;
  if (pairs.ratios.empty() || pairs.controls.empty()) return result;
  result.ratio = median_of(pairs.ratios);
  result.interval = bootstrap_median(pairs.ratios, rule.confidence, rule.resamples);
  result.control = median_of(pairs.controls);
  result.control_interval = bootstrap_median(pairs.controls, rule.confidence, rule.resamples);
  const double noise = (result.control_interval.high - result.control_interval.low) / 2;
  result.delta = std::max(rule.min_effect, 2 * noise);
  result.verdict = verdict_of(result.interval, result.delta);
  return result;
}

}  // namespace kw::suite
