// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/statistics.hpp"

#include <chrono>
#include <thread>
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
  EXPECT_DOUBLE_EQ(s.p05, 1.25);
  EXPECT_DOUBLE_EQ(s.p95, 5 + 0.75 * 95);
  EXPECT_DOUBLE_EQ(s.iqr, 4.75 - 2.25);
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

TEST(Statistics, TwoModesAndDriftShow) {
  std::vector<double> two, one, drift, outlier;
  RandomStream random(3);
  for (int i = 0; i < 100; ++i) {
    const double noise = random.unit();
    one.push_back(1000 + noise);
    two.push_back((i % 4 == 0 ? 1100 : 1000) + noise);
    drift.push_back(1000 + i + noise);
    outlier.push_back(i < 3 ? 5000 : 1000 + noise);
  }
  EXPECT_FALSE(summarize(one).bimodal);
  EXPECT_TRUE(summarize(two).bimodal);
  EXPECT_FALSE(summarize(drift).bimodal);
  EXPECT_FALSE(summarize(outlier).bimodal);  // too few to be a mode
  EXPECT_LT(summarize(one).autocorrelation, 0.3);
  EXPECT_GT(summarize(drift).autocorrelation, 0.9);
  EXPECT_EQ(summarize(std::vector<double>(30, 7.0)).autocorrelation, 0);
}

TEST(Sampler, WarmsUpUntilSamplesStandStill) {
  StoppingRule rule;
  rule.min_warm_seconds = 0.05;
  rule.max_warm_seconds = 5;
  rule.max_seconds = 0.05;
  const auto start = std::chrono::steady_clock::now();
  const Timing timing = collect_samples("graph_cold", rule, [&] {
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return since.count() < 0.15 ? 2000.0 : 1000.0;  // clocks rise
  });
  EXPECT_EQ(timing.nanoseconds.max, 1000);
  EXPECT_GE(timing.seconds, 0.02);
}

TEST(Sampler, PairsOfLongSamplesEndWithTheTime) {
  StoppingRule rule;
  rule.max_seconds = 0.01;
  const auto sample = [] {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return 3.0;
  };
  const PairedTimings pair = collect_pairs(rule, sample, sample);
  EXPECT_EQ(pair.difference.nanoseconds.count, 100);
  EXPECT_EQ(pair.difference.nanoseconds.stop_reason, "time");
  EXPECT_EQ(collect_pairs(
                {}, [] { return 3.0; }, [] { return 1.0; })
                .difference.nanoseconds.count,
            1000);
}

struct Readings final : runtime::Monitor {
  std::vector<runtime::DeviceReading> next;
  runtime::DeviceReading read() override {
    const runtime::DeviceReading reading = next.front();
    next.erase(next.begin());
    return reading;
  }
  std::vector<std::pair<std::string, std::string>> facts() const override { return {}; }
};

TEST(Sampler, FlagsWhatTheDeviceSaysAboutTheBlock) {
  const auto flags_of = [](const runtime::DeviceReading& before,
                           const runtime::DeviceReading& after) {
    Readings monitor;
    monitor.next = {before, after};
    StoppingRule rule;
    rule.iterations = 3;
    return collect_samples(
               "graph_cold", rule, [] { return 1000.0; }, &monitor)
        .flags;
  };
  using Flags = std::vector<std::string>;
  runtime::DeviceReading calm;
  calm.sm_mhz = 1980;
  calm.power_violation_ns = calm.thermal_violation_ns = 5;
  calm.clock_event_reasons = 0;
  calm.other_processes = 0;
  EXPECT_EQ(flags_of(calm, calm), Flags{});
  EXPECT_EQ(flags_of({}, {}), Flags{});  // a device that says nothing
  runtime::DeviceReading after = calm;
  after.power_violation_ns = 1e9;
  EXPECT_EQ(flags_of(calm, after), Flags{"power_limited"});
  after = calm;
  after.clock_event_reasons = 0x40;
  EXPECT_EQ(flags_of(calm, after), Flags{"thermal"});
  after = calm;
  after.sm_mhz = 1900;
  EXPECT_EQ(flags_of(calm, after), Flags{"clock_drift"});
  after = calm;
  after.other_processes = 1;
  EXPECT_EQ(flags_of(calm, after), Flags{"shared_gpu"});
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

TEST(Statistics, WriteDurationsInTheirUnit) {
  EXPECT_EQ(duration_text(142.54), "142.5 ns");
  EXPECT_EQ(duration_text(12344), "12.34 us");
  EXPECT_EQ(duration_text(3.25e6), "3.250 ms");
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
