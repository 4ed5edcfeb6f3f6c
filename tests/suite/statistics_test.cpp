// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/statistics.hpp"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "kernelwright/suite/random.hpp"
#include "kernelwright/suite/sampler.hpp"

namespace kw::suite {
namespace {

TEST(Statistics, OfAFewNumbers) {
  const std::vector<double> samples{5, 1, 4, 2, 3, 100};
  const Statistics s = summarize(samples);
  EXPECT_EQ(s.count, 6);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 100);
  EXPECT_EQ(s.median, 3.5);
  EXPECT_DOUBLE_EQ(s.p95, 5 + 0.75 * 95);
  EXPECT_DOUBLE_EQ(s.mad, 1.4826 * 1.5);  // the outlier does not move it
  EXPECT_LE(s.ci_low, s.median);
  EXPECT_GE(s.ci_high, s.median);
  EXPECT_EQ(summarize({}).count, 0);
}

TEST(Statistics, TheIntervalCoversTheTrueMedianNineteenTimesOfTwenty) {
  RandomStream random(5);
  int covered = 0;
  for (int run = 0; run < 200; ++run) {
    std::vector<double> samples(40);
    for (double& v : samples) v = 100 + random.unit();
    const Statistics s = summarize(samples, 400);
    covered += s.ci_low <= 100.5 && 100.5 <= s.ci_high ? 1 : 0;
  }
  EXPECT_GE(covered, 180);
  EXPECT_LT(covered, 200);
}

TEST(Statistics, EqualSamplesGiveEqualIntervals) {
  const std::vector<double> samples{3, 1, 2, 5, 8, 9, 2};
  EXPECT_EQ(summarize(samples).ci_low, summarize(samples).ci_low);
  const std::vector<double> constant(30, 7.0);
  EXPECT_EQ(summarize(constant).ci_half_width(), 0);
}

TEST(Sampler, StopsWhenTheMedianIsKnown) {
  StoppingRule rule;
  rule.confidence = 0.5;
  int calls = 0;
  const Timing timing = take_samples("wall", rule, [&](std::int64_t n) {
    EXPECT_EQ(n, calls++);
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(30);
    while (std::chrono::steady_clock::now() < until) {
    }
  });
  EXPECT_EQ(timing.nanoseconds.stop_reason, "ci");
  EXPECT_EQ(timing.calls_per_sample, 1);
  EXPECT_GE(timing.nanoseconds.min, 30e3);
  EXPECT_GE(timing.nanoseconds.count, rule.min_samples);
}

TEST(Sampler, GroupsShortCallsAndObeysTime) {
  StoppingRule rule;
  rule.confidence = 0;
  rule.max_seconds = 0.05;
  volatile int sink = 0;
  const Timing timing = take_samples("wall", rule, [&](std::int64_t) { sink = sink + 1; });
  EXPECT_GT(timing.calls_per_sample, 100);
  EXPECT_LT(timing.nanoseconds.median, 1000);
  EXPECT_TRUE(timing.nanoseconds.stop_reason == "time" ||
              timing.nanoseconds.stop_reason == "samples");
  rule.iterations = 7;
  EXPECT_EQ(take_samples("wall", rule, [](std::int64_t) {}).nanoseconds.count, 7);
}

}  // namespace
}  // namespace kw::suite
