// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/base/log.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace kw {
namespace {

class LogTest : public testing::Test {
 protected:
  ~LogTest() override { set_log_sink(nullptr); }

  std::vector<std::string> lines;
  LogSink collect = [this](LogLevel level, std::string_view category, std::string_view text) {
    lines.push_back(std::string(log_level_name(level)) + " " + std::string(category) + " " +
                    std::string(text));
  };
};

TEST_F(LogTest, SaysNothingWithoutASink) {
  log(LogLevel::kError, "a", "b");
  EXPECT_TRUE(lines.empty());
}

TEST_F(LogTest, DropsWhatIsBelowTheThreshold) {
  set_log_sink(collect, LogLevel::kInfo);
  log(LogLevel::kDebug, "c", "no");
  log(LogLevel::kInfo, "c", "yes");
  log(LogLevel::kError, "c", "too");
  EXPECT_EQ(lines, (std::vector<std::string>{"info c yes", "error c too"}));
}

TEST_F(LogTest, DefaultThresholdIsWarning) {
  set_log_sink(collect);
  log(LogLevel::kInfo, "c", "no");
  log(LogLevel::kWarning, "c", "yes");
  EXPECT_EQ(lines.size(), 1U);
}

TEST_F(LogTest, RemovedSinkHearsNothing) {
  set_log_sink(collect, LogLevel::kDebug);
  set_log_sink(nullptr, LogLevel::kDebug);
  log(LogLevel::kError, "c", "no");
  EXPECT_TRUE(lines.empty());
}

TEST_F(LogTest, FailingSinkDoesNotReachTheLibrary) {
  set_log_sink(
      [](LogLevel, std::string_view, std::string_view) { throw std::runtime_error("full disk"); });
  EXPECT_NO_THROW(log(LogLevel::kError, "c", "x"));
}

TEST_F(LogTest, SinkMayLogAndReplaceItself) {
  set_log_sink([this](LogLevel, std::string_view, std::string_view text) {
    set_log_sink(collect);
    log(LogLevel::kError, "inner", text);
  });
  log(LogLevel::kError, "outer", "x");
  EXPECT_EQ(lines, (std::vector<std::string>{"error inner x"}));
}

TEST_F(LogTest, ReplacingWhileOthersLogIsSafe) {
  std::atomic<int> heard{0};
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop) log(LogLevel::kError, "c", "x");
  });
  for (int i = 0; i < 200; ++i) {
    set_log_sink([&heard](LogLevel, std::string_view, std::string_view) { ++heard; });
    const int before = heard;
    while (heard == before) std::this_thread::yield();
    set_log_sink(nullptr);
  }
  stop = true;
  writer.join();
  EXPECT_GE(heard, 200);
}

}  // namespace
}  // namespace kw
