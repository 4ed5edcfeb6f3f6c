// SPDX-License-Identifier: Apache-2.0
// Which of two is faster: blocks of samples in interleaved pairs, a control of the first against
// itself in the same run, and a verdict with an interval.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "kernelwright/suite/statistics.hpp"

namespace kw::suite {

enum class Verdict : std::uint8_t { kFaster, kSlower, kSame, kAmbiguous };
std::string_view verdict_name(Verdict verdict) noexcept;  // "FASTER", ...

inline constexpr int kMinPairs = 12;
inline constexpr int kMinBlock = 8, kMaxBlock = 32;  // samples

struct PairRule {
  int pairs = 20;            // of A and B, and as many of A and A; at least kMinPairs, even
  double min_effect = 0.01;  // what is smaller is no difference
  double confidence = 0.99;  // of the intervals: one false verdict in a hundred at most
  int resamples = 10000;
  std::uint64_t seed = 1;  // of the order
};

// Times of blocks, and one ratio per pair.
struct Pairs {
  std::vector<double> a, b;      // nanoseconds; of the pairs of A and B
  std::vector<double> ratios;    // a / b
  std::vector<double> controls;  // a / a
};

// `a(n)` and `b(n)` take a block of n samples and return its time per call. Each order occurs as
// often as the other, so that a drift of the machine cancels.
using Block = std::function<double(int samples)>;
Pairs take_pairs(const Block& a, const Block& b, int samples, const PairRule& rule);

struct PairComparison {
  double ratio = 1;  // time of A by time of B: above 1, B is faster
  Interval interval;
  double control = 1;  // the same of A by A
  Interval control_interval;
  double delta = 0;  // half width of what counts as the same: the noise of the control doubles it
  Verdict verdict = Verdict::kAmbiguous;
};
PairComparison compare_pairs(const Pairs& pairs, const PairRule& rule);

Verdict verdict_of(const Interval& interval, double delta) noexcept;

}  // namespace kw::suite
