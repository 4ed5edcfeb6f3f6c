// SPDX-License-Identifier: Apache-2.0
// Verdicts over simulated machines: noise, drift, outliers, none of it real.
#include "kernelwright/suite/pairing.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "kernelwright/suite/random.hpp"

namespace kw::suite {
namespace {

// A machine on which a call takes its nominal time, times noise, times what the drift has come to.
class Machine {
 public:
  explicit Machine(std::uint64_t seed, double noise = 0, double drift = 0)
      : random_(seed), noise_(noise), drift_(drift) {}

  Block block(double ns) {
    return [this, ns](int samples) {
      std::vector<double> times;
      for (int i = 0; i < samples; ++i) {
        double normal = -6;
        for (int k = 0; k < 12; ++k) normal += random_.unit();
        const double outlier = random_.one_in(50) ? 1.5 : 1;
        times.push_back(ns * (1 + noise_ * normal) * outlier *
                        (1 + drift_ * static_cast<double>(++calls_)));
      }
      return median_of(times);
    };
  }

 private:
  RandomStream random_;
  double noise_, drift_;
  int calls_ = 0;
};

PairComparison compare(double a_ns, double b_ns, Machine machine, std::uint64_t seed = 1) {
  PairRule rule;
  rule.seed = seed;
  rule.resamples = 2000;
  return compare_pairs(take_pairs(machine.block(a_ns), machine.block(b_ns), 16, rule), rule);
}

TEST(Pairing, EqualTimesAreTheSame) {
  const PairComparison exact = compare(1000, 1000, Machine(1));
  EXPECT_EQ(exact.verdict, Verdict::kSame);
  EXPECT_EQ(exact.ratio, 1);
  EXPECT_EQ(exact.interval.low, 1);
  EXPECT_EQ(exact.delta, 0.01);
  int same = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Verdict verdict = compare(1000, 1000, Machine(seed, 0.01), seed).verdict;
    EXPECT_NE(verdict, Verdict::kFaster);
    EXPECT_NE(verdict, Verdict::kSlower);
    same += verdict == Verdict::kSame ? 1 : 0;
  }
  EXPECT_GE(same, 49);
}

TEST(Pairing, AThreePercentSlowdownIsFoundAndOnePercentNeverReversed) {
  int slower = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    slower += compare(1000, 1030, Machine(seed, 0.01), seed).verdict == Verdict::kSlower ? 1 : 0;
    EXPECT_NE(compare(1000, 1010, Machine(seed, 0.01), seed).verdict, Verdict::kFaster);
    EXPECT_NE(compare(1010, 1000, Machine(seed, 0.01), seed).verdict, Verdict::kSlower);
  }
  EXPECT_GE(slower, 48);
  EXPECT_EQ(compare(1000, 500, Machine(3, 0.01)).verdict, Verdict::kFaster);
  EXPECT_EQ(verdict_name(Verdict::kFaster), "FASTER");
}

// Half a percent a block: over the run the machine slows down by a third.
TEST(Pairing, DriftCancels) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const PairComparison result = compare(1000, 1000, Machine(seed, 0.002, 0.0003), seed);
    EXPECT_NE(result.verdict, Verdict::kFaster);
    EXPECT_NE(result.verdict, Verdict::kSlower);
    EXPECT_NEAR(result.ratio, 1, 0.01);
  }
}

TEST(Pairing, NoiseOfTheControlWidensWhatIsTheSame) {
  const PairComparison result = compare(1000, 1030, Machine(5, 0.3));
  EXPECT_GT(result.delta, 0.03);
  EXPECT_NE(result.verdict, Verdict::kFaster);
}

TEST(Pairing, OrderIsRandomAndBalanced) {
  std::string order;
  PairRule rule;
  rule.pairs = 3;  // raised to twelve
  take_pairs([&](int) { return order += 'a', 1.0; }, [&](int) { return order += 'b', 1.0; }, 8,
             rule);
  EXPECT_EQ(std::count(order.begin(), order.end(), 'b'), kMinPairs);
  EXPECT_EQ(std::count(order.begin(), order.end(), 'a'), 3 * kMinPairs);
  std::string other;
  rule.seed = 2;
  take_pairs([&](int) { return other += 'a', 1.0; }, [&](int) { return other += 'b', 1.0; }, 8,
             rule);
  EXPECT_NE(order, other);
}

TEST(Pairing, VerdictsByInterval) {
  EXPECT_EQ(verdict_of({1.02, 1.04}, 0.01), Verdict::kFaster);
  EXPECT_EQ(verdict_of({0.96, 0.98}, 0.01), Verdict::kSlower);
  EXPECT_EQ(verdict_of({0.995, 1.005}, 0.01), Verdict::kSame);
  EXPECT_EQ(verdict_of({1.005, 1.02}, 0.01), Verdict::kAmbiguous);
  EXPECT_EQ(verdict_of({0.98, 0.995}, 0.01), Verdict::kAmbiguous);
}

}  // namespace
}  // namespace kw::suite
