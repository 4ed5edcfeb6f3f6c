// SPDX-License-Identifier: Apache-2.0
// The tuner on a device whose time is simulated: what is found, what is dropped and said, groups,
// one tree over buckets, pins, requests that select nothing.
#include "kernelwright/tune/run.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

#include "support/expect_error.hpp"
#include "support/fake_device.hpp"
#include "tune/support/toy.hpp"

namespace kw::tune {
namespace {

using test::ToyCfg;

class Tune : public ::testing::Test {
 protected:
  Tune() { test::add_toy(catalog_); }

  TuneReport run(std::vector<std::string> problems) {
    request_.operation = "toy";
    request_.problems = std::move(problems);
    return run_tune(request_, platform_, searches_);
  }
  GroupOutcome run_one(std::vector<std::string> problems) {
    const TuneReport report = run(std::move(problems));
    EXPECT_EQ(report.groups.size(), 1U);
    return report.groups.at(0);
  }

  Catalog catalog_;
  test::FakeDevice device_{{.cache_bytes = 1 << 16}};
  suite::Platform platform_{catalog_, device_, {}, {}};
  std::vector<SearchSpec> searches_{test::toy_search()};
  TuneRequest request_;
};

const std::string kMany = "toy/plain x=f32[200,16]", kFew = "toy/plain x=f32[3,16]";

TEST_F(Tune, FindsTheFastestLegalGeometryAndWritesAnEntry) {
  test::toy_behaviour().time = [](const ToyCfg& cfg, std::int64_t) {
    return 1000.0 + (cfg.threads == 128 ? 0 : 500) - 5.0 * cfg.unroll;
  };
  request_.revision = "r7";
  const GroupOutcome group = run_one({kMany});
  EXPECT_TRUE(group.skipped.empty()) << group.skipped;
  EXPECT_TRUE(group.failures.empty());
  EXPECT_FALSE(group.formula);
  ASSERT_EQ(group.problems.size(), 1U);
  const ProblemOutcome& problem = group.problems[0];
  // 48 threads and unroll 16 are not legal: 3 x 2.
  EXPECT_EQ(problem.candidates, 6);
  EXPECT_EQ(problem.chosen, "{.width = 16, .threads = 128}") << "unroll 4 is 1.5 % faster, no more";
  EXPECT_DOUBLE_EQ(problem.default_ms, 1495e-6);
  EXPECT_DOUBLE_EQ(problem.chosen_ms, 995e-6);
  EXPECT_DOUBLE_EQ(problem.fastest_ms, 980e-6);

  Table table;
  EXPECT_TRUE(record(group, table).empty());
  ASSERT_EQ(table.entries.size(), 1U);
  const Entry& entry = table.entries[0];
  EXPECT_EQ(entry.implementation, "cuda.jit.toy");
  EXPECT_EQ(entry.capability, "sm_90");
  EXPECT_EQ(entry.model, device_.hardware().model);
  EXPECT_EQ(entry.when, (CfgPins{{"width", "16"}}));
  EXPECT_EQ(entry.tree, (CfgPins{{"threads", "128"}}));
  EXPECT_EQ(entry.buckets.at("many").cfg, (CfgPins{{"unroll", "1"}, {"lanes.count", "1"}}));
  EXPECT_EQ(entry.buckets.at("many").problems, std::vector<std::string>{kMany});
  EXPECT_EQ(entry.revision, "r7");
  EXPECT_EQ(table_text(parse_table(table_text(table), "again")), table_text(table));
}

TEST_F(Tune, AnEntryGoesWhereTheFormulaIsAsGood) {
  const GroupOutcome group = run_one({kMany});
  EXPECT_TRUE(group.formula);
  Table table;
  table.entries.push_back(group.entry);
  table.entries[0].tree["threads"] = "32";
  record(group, table);
  EXPECT_TRUE(table.entries.empty());
}

// Apart, few rows would take 32 threads and many 128.
TEST_F(Tune, BucketsOfOneWidthShareTheirTree) {
  test::toy_behaviour().time = [](const ToyCfg& cfg, std::int64_t rows) {
    if (rows < 100) return cfg.threads == 32 ? 1000.0 : cfg.unroll == 4 ? 1050.0 : 1200.0;
    return cfg.threads == 128 && cfg.unroll == 1 ? 1000.0 : 2000.0;
  };
  const GroupOutcome group = run_one({kFew, kMany});
  EXPECT_EQ(group.entry.tree, (CfgPins{{"threads", "128"}}));
  EXPECT_EQ(group.entry.buckets.at("few").cfg.at("unroll"), "4");
  EXPECT_EQ(group.entry.buckets.at("many").cfg.at("unroll"), "1");
}

TEST_F(Tune, GroupsByTheKeyFacts) {
  const TuneReport report = run({kMany, "toy/plain x=f32[200,32]", kFew});
  ASSERT_EQ(report.groups.size(), 2U);
  EXPECT_EQ(report.groups[0].problems.size(), 2U);
  EXPECT_EQ(report.groups[1].when, (CfgPins{{"width", "32"}}));
  EXPECT_EQ(report.exit_code(), 0);
}

TEST_F(Tune, AWrongCandidateIsDroppedAndNamed) {
  test::toy_behaviour().time = [](const ToyCfg& cfg, std::int64_t) {
    return cfg.threads == 32 ? 100.0 : 1000.0 - cfg.threads;
  };
  test::toy_behaviour().wrong = [](const ToyCfg& cfg) { return cfg.threads == 32; };
  const TuneReport report = run({kMany});
  const GroupOutcome& group = report.groups.at(0);
  EXPECT_EQ(group.entry.tree.at("threads"), "128");
  EXPECT_EQ(group.problems.at(0).timed, 4);
  ASSERT_EQ(group.failures.size(), 2U);
  EXPECT_EQ(group.failures[0].reason, "numeric_mismatch");
  EXPECT_NE(group.failures[0].repro.find("--cfg threads=32"), std::string::npos)
      << group.failures[0].repro;
  EXPECT_EQ(report.exit_code(), 1);
}

// More elements than candidates are verified on.
TEST_F(Tune, TheChosenOneIsConfirmedOnMoreRows) {
  test::toy_behaviour().time = [](const ToyCfg& cfg, std::int64_t) {
    return cfg.threads == 32 ? 100.0 : 1000.0 - cfg.threads;
  };
  test::toy_behaviour().wrong = [](const ToyCfg& cfg) { return cfg.threads == 32; };
  test::toy_behaviour().wrong_from = 200;
  const TuneReport report = run({"toy/plain x=f32[256,4096]"});
  const GroupOutcome& group = report.groups.at(0);
  EXPECT_EQ(group.problems.at(0).timed, 6);
  EXPECT_EQ(group.entry.tree.at("threads"), "128");
  EXPECT_EQ(group.failures.size(), 2U);
  EXPECT_EQ(report.exit_code(), 1);
}

TEST_F(Tune, ACandidateThatDoesNotCompileIsNamedToo) {
  test::toy_behaviour().refused = [](const ToyCfg& cfg) { return cfg.unroll == 4; };
  const GroupOutcome group = run_one({kMany});
  EXPECT_EQ(group.problems.at(0).timed, 3);
  ASSERT_EQ(group.failures.size(), 3U);
  EXPECT_EQ(group.failures[0].reason, "compile_error");
  EXPECT_NE(group.failures[0].message.find("the compiler refuses this"), std::string::npos);
}

TEST_F(Tune, WhenTimeRunsOutTheFormulaIsStillTimed) {
  test::toy_behaviour().refused = [](const ToyCfg&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(80));
    return false;
  };
  request_.max_seconds = 0.05;
  const GroupOutcome group = run_one({kMany});
  EXPECT_TRUE(group.skipped.empty()) << group.skipped;
  EXPECT_TRUE(group.formula);
  EXPECT_TRUE(group.cut_short);
  EXPECT_TRUE(group.failures.empty());
  EXPECT_EQ(group.problems.at(0).timed, 1);
  EXPECT_TRUE(nlohmann::json::parse(to_json(run({kMany, kFew})))["groups"][0]["cut_short"]);
}

TEST_F(Tune, ASearchThatIsCutShortTakesNoEntryAway) {
  test::toy_behaviour().time = [](const ToyCfg& cfg, std::int64_t) {
    return cfg.threads == 128 ? 500.0 : 1000.0;
  };
  Table table;
  const GroupOutcome whole = run_one({kMany});
  EXPECT_FALSE(whole.cut_short);
  record(whole, table);
  ASSERT_EQ(table.entries.size(), 1U);
  const std::string before = table_text(table);
  test::toy_behaviour().refused = [](const ToyCfg&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(80));
    return false;
  };
  request_.max_seconds = 0.05;
  const GroupOutcome cut = run_one({kMany});
  EXPECT_TRUE(cut.formula && cut.cut_short);
  EXPECT_TRUE(record(cut, table).empty());
  EXPECT_EQ(table_text(table), before);
  Table empty;
  record(cut, empty);
  EXPECT_TRUE(empty.entries.empty());
}

// Verified on few rows, timed, and found wrong when it is confirmed on more: nothing is left.
TEST_F(Tune, AFormulaThatFailsLateWhenTimeIsOutIsAFailure) {
  test::toy_behaviour().wrong = [](const ToyCfg&) { return true; };
  test::toy_behaviour().wrong_from = 200;
  test::toy_behaviour().refused = [](const ToyCfg&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(80));
    return false;
  };
  request_.max_seconds = 0.05;
  const TuneReport report = run({"toy/plain x=f32[256,4096]"});
  EXPECT_EQ(report.groups.at(0).failures.size(), 1U);
  EXPECT_FALSE(report.groups.at(0).skipped.empty());
  EXPECT_EQ(report.exit_code(), 1);
}

TEST_F(Tune, NothingIsTunedAgainstAFormulaThatFails) {
  test::toy_behaviour().wrong = [](const ToyCfg& cfg) {
    return cfg.threads == 64 && cfg.unroll == 1;
  };
  const TuneReport report = run({kMany});
  EXPECT_NE(report.groups.at(0).skipped.find("the formula's own geometry fails on " + kMany),
            std::string::npos)
      << report.groups[0].skipped;
  Table table;
  record(report.groups[0], table);
  EXPECT_TRUE(table.entries.empty());
  EXPECT_EQ(report.exit_code(), 1);
}

TEST_F(Tune, PinsFixAField) {
  request_.pins = {{"threads", "128"}};
  const GroupOutcome group = run_one({kMany});
  EXPECT_EQ(group.problems.at(0).candidates, 3) << "two of 128 threads, and the formula";
  request_.pins = {{"treads", "128"}};
  test::expect_error(Code::kNotFound, {"treads", "threads"}, [&] { run({kMany}); });
}

TEST_F(Tune, SaysWhatCannotBeTuned) {
  const TuneReport report = run({"toy/plain x=f32[0,16]", "toy/plain x=f64[8,16]"});
  ASSERT_EQ(report.groups.size(), 2U);
  EXPECT_NE(report.groups[0].skipped.find("moves no bytes"), std::string::npos);
  EXPECT_NE(report.groups[1].skipped.find("f64 is for the oracle"), std::string::npos);
  EXPECT_EQ(report.exit_code(), 3);
  searches_.clear();
  test::expect_error(Code::kNotFound, {"search space", "cuda:0"}, [&] { run({kMany}); });
}

TEST_F(Tune, ReportsEveryGroupWhenItIsDoneAndAsJson) {
  int finished = 0;
  request_.finished = [&](const GroupOutcome& group) {
    ++finished;
    EXPECT_EQ(group.implementation, "cuda.jit.toy");
  };
  const TuneReport report = run({kMany, "toy/plain x=f32[200,32]"});
  EXPECT_EQ(finished, 2);
  const std::string json = to_json(report);
  for (const char* word : {"\"kind\": \"tune\"", "\"chosen_ms\"", "\"width\": \"32\""})
    EXPECT_NE(json.find(word), std::string::npos) << word;
}

// Stages: the product of all axes exceeds what one stage may have.
TEST_F(Tune, StagesFindWhatTheProductWould) {
  std::vector<std::string> counts;
  for (int i = 1; i <= 120; ++i) counts.push_back(std::to_string(i));
  searches_[0].stages = {{{"threads", {"32", "64", "128"}}, {"unroll", {"1", "2", "4", "8"}}},
                         {{"lanes.count", counts}}};
  test::toy_behaviour().time = [](const ToyCfg& cfg, std::int64_t) {
    return 5000.0 + (cfg.threads == 128 ? 0 : 1000) - 100.0 * cfg.unroll +
           10.0 * std::abs(cfg.lanes.count - 77);
  };
  request_.pins = {};
  const GroupOutcome group = run_one({kMany});
  EXPECT_EQ(group.problems.at(0).fastest,
            "{.width = 16, .threads = 128, .unroll = 8, .lanes = {.count = 77}}");
  EXPECT_LT(group.problems[0].candidates, 12 * 120);
}

}  // namespace
}  // namespace kw::tune
