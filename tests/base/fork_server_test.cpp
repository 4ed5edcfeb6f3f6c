// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/base/fork_server.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace kw {
namespace {

using End = WorkerAnswer::End;

// Counts the requests of one worker, and does what it is told.
ForkServer::Served serve(const std::string& request) {
  static int served = 0;
  ++served;
  if (request == "die") ::raise(SIGKILL);
  if (request == "exit") ::_exit(7);
  if (request == "throw") throw std::runtime_error("no such thing");
  if (request == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
  return {std::to_string(served) + request, request == "last"};
}

TEST(ForkServer, KeepsItsWorkerUntilThatIsSpent) {
  ForkServer server(serve);
  EXPECT_EQ(server.ask("a", 10).text, "1a");
  EXPECT_EQ(server.ask(std::string(200000, 'b'), 10).text, "2" + std::string(200000, 'b'));
  EXPECT_EQ(server.ask("last", 10).text, "3last");
  EXPECT_EQ(server.ask("", 10).text, "1");
}

TEST(ForkServer, SaysHowAWorkerEndedAndHasAnother) {
  ForkServer server(serve);
  const auto expect = [&](const char* request, End end, const char* text) {
    const WorkerAnswer answer = server.ask(request, 10);
    EXPECT_EQ(answer.end, end) << request;
    EXPECT_EQ(answer.text, text) << request;
    EXPECT_EQ(server.ask("x", 10).text, "1x") << "after " << request;
  };
  expect("die", End::kDied, "signal 9");
  expect("exit", End::kDied, "exit code 7");
  expect("throw", End::kFailed, "no such thing");
}

TEST(ForkServer, KillsAWorkerThatTakesTooLong) {
  ForkServer server(serve);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(server.ask("hang", 0.1).end, End::kTimedOut);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(server.ask("x", 10).text, "1x");
}

}  // namespace
}  // namespace kw
