// SPDX-License-Identifier: Apache-2.0
// parallel_for: every item exactly once, whatever the team.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kernelwright/kit/cpu/threads.hpp"

namespace kw::kit::cpu {
namespace {

TEST(ParallelFor, RunsEveryItemOnce) {
  for (const int threads : {0, 1, 2, 3, 7, 1000}) {
    for (const std::int64_t count : {0, 1, 2, 5, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
      parallel_for(threads, count, [&](std::int64_t item) { runs[item].fetch_add(1); });
      for (const auto& run : runs) EXPECT_EQ(run.load(), 1) << threads << " threads, " << count;
    }
  }
}

TEST(ParallelFor, OneThreadIsTheCaller) {
  std::set<std::thread::id> ids;
  parallel_for(1, 10, [&](std::int64_t) { ids.insert(std::this_thread::get_id()); });
  EXPECT_EQ(ids, std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST(ParallelFor, SharesWithoutAnOwnerAreTaken) {
  // A nested region gets a team of one by default, but was split for four.
  std::vector<std::atomic<int>> runs(2 * 100);
#pragma omp parallel num_threads(2)
  {
    const int outer = omp_get_thread_num();
    parallel_for(4, 100, [&](std::int64_t item) { runs[outer * 100 + item].fetch_add(1); });
  }
  const int teams = runs[100].load() > 0 ? 2 : 1;
  for (int i = 0; i < teams * 100; ++i) EXPECT_EQ(runs[i].load(), 1);
}

TEST(ParallelFor, IdleThreadsTakeTheWorkOfASlowOne) {
  std::atomic<int> done = 0;
  std::atomic<bool> others_finished = false;
  parallel_for(2, 20, [&](std::int64_t item) {
    if (item == 0) {  // its own share is items 0..9: waits until somebody else did the other nine
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(5);
      while (done.load() < 19 && std::chrono::steady_clock::now() < limit) {
        std::this_thread::yield();
      }
      others_finished = done.load() == 19;
    }
    done.fetch_add(1);
  });
  EXPECT_EQ(done.load(), 20);
  EXPECT_TRUE(others_finished.load());
}

}  // namespace
}  // namespace kw::kit::cpu
