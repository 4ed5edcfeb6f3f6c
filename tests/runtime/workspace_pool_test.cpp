// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/runtime/workspace_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>

#include "support/expect_error.hpp"
#include "support/fake_device.hpp"

namespace kw::runtime {
namespace {

using test::expect_error;
using test::FakeDevice;

bool all_equal(const void* data, std::int64_t bytes, std::byte value) {
  const auto* first = static_cast<const std::byte*>(data);
  return std::all_of(first, first + bytes, [&](std::byte b) { return b == value; });
}

TEST(WorkspacePool, GrowsOnlyInReserve) {
  FakeDevice device;
  WorkspacePool pool(device);
  int owner = 0;
  EXPECT_EQ(pool.find(&owner, 64, 0), nullptr);
  EXPECT_EQ(device.calls().allocations, 0);

  pool.reserve(&owner, nullptr, 1000, 0);
  EXPECT_EQ(device.calls().allocations, 1);
  void* const found = pool.find(&owner, 1000, 0);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(pool.find(&owner, 1, 0), found);
  EXPECT_EQ(pool.find(&owner, 1025, 0), nullptr) << "1000 rounded up to 64 is 1024";

  device.reset_calls();
  pool.reserve(&owner, nullptr, 500, 0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(pool.find(&owner, 700, 0), found);
  EXPECT_EQ(device.calls(), test::DriverCalls{}) << "no call reached the driver";
}

TEST(WorkspacePool, NothingIsReservedForNoBytes) {
  FakeDevice device;
  WorkspacePool pool(device);
  pool.reserve(&device, nullptr, 0, 0);
  EXPECT_EQ(pool.reserved_bytes(), 0);
  EXPECT_EQ(pool.find(&device, 0, 0), nullptr);
}

TEST(WorkspacePool, OwnersAreApart) {
  FakeDevice device;
  WorkspacePool pool(device);
  pool.reserve(nullptr, nullptr, 256, 0);  // the default stream
  int other = 0;
  EXPECT_EQ(pool.find(&other, 256, 0), nullptr);
  pool.reserve(&other, nullptr, 256, 0);
  EXPECT_NE(pool.find(&other, 256, 0), pool.find(nullptr, 256, 0));
}

TEST(WorkspacePool, AnswersAreAligned) {
  FakeDevice device;
  WorkspacePool pool(device);
  pool.reserve(&pool, nullptr, 64 * 3 + 4, 64 * 3);
  for (std::int64_t zeroed = 0; zeroed <= 64 * 3; zeroed += 64) {
    const auto address = reinterpret_cast<std::uintptr_t>(pool.find(&pool, zeroed + 4, zeroed));
    EXPECT_NE(address, 0U);
    EXPECT_EQ(address % static_cast<std::uintptr_t>(kMemoryAlignment), 0U);
  }
}

TEST(WorkspacePool, PrefixIsZeroWhateverOtherCallsLeaveInTheirScratch) {
  FakeDevice device;
  WorkspacePool pool(device);
  pool.reserve(&pool, nullptr, 4096, 0);
  pool.reserve(&pool, nullptr, 1024, 64);
  pool.reserve(&pool, nullptr, 2048, 256);

  const struct {
    std::int64_t bytes, zeroed;
  } calls[] = {{4096, 0}, {1024, 64}, {2048, 256}, {64, 64}, {1, 0}};
  for (int round = 0; round < 3; ++round) {
    for (const auto& [bytes, zeroed] : calls) {
      auto* const data = static_cast<std::byte*>(pool.find(&pool, bytes, zeroed));
      ASSERT_NE(data, nullptr) << bytes;
      EXPECT_TRUE(all_equal(data, zeroed, std::byte{0})) << zeroed << " in round " << round;
      std::memset(data + zeroed, 0xEE, static_cast<std::size_t>(bytes - zeroed));  // a launch
    }
  }
}

TEST(WorkspacePool, GrowthKeepsZerosAndLeavesOldBlocksAlone) {
  FakeDevice device;
  WorkspacePool pool(device);
  pool.reserve(&pool, nullptr, 1024, 128);
  void* const old = pool.find(&pool, 1024, 128);
  pool.reserve(&pool, nullptr, 8192, 0);
  void* const grown = pool.find(&pool, 8192 + 128, 128);
  ASSERT_NE(grown, nullptr) << "growth for one call keeps the prefix of another";
  EXPECT_NE(grown, old);
  EXPECT_TRUE(all_equal(grown, 128, std::byte{0}));
  EXPECT_TRUE(all_equal(old, 128, std::byte{0})) << "a captured graph may hold it";
  pool.trim();
  EXPECT_EQ(device.calls().frees, 1);
  EXPECT_EQ(pool.find(&pool, 1024, 128), grown);
}

TEST(WorkspacePool, BlocksThatGrowthReplacedStayBounded) {
  FakeDevice device;
  WorkspacePool pool(device);
  for (std::int64_t bytes = 64; bytes <= 1 << 20; bytes += 64) {
    pool.reserve(&pool, nullptr, bytes, 0);
  }
  const std::int64_t all = pool.reserved_bytes();
  pool.trim();
  const std::int64_t newest = pool.reserved_bytes();
  EXPECT_GE(newest, 1 << 20);
  EXPECT_LE(newest, (1 << 20) * 3 / 2 + 64);
  EXPECT_LE(all, 3 * newest);
  EXPECT_LE(device.calls().allocations, 30);
}

TEST(WorkspacePool, EndFreesEverything) {
  FakeDevice device;
  {
    WorkspacePool pool(device);
    int owners[3];
    for (const int& owner : owners) {
      pool.reserve(&owner, nullptr, 100, 0);
      pool.reserve(&owner, nullptr, 1000, 64);
    }
    EXPECT_GT(device.allocated_bytes(), 0);
  }
  EXPECT_EQ(device.allocated_bytes(), 0);
}

TEST(WorkspacePool, ReleaseFreesOneOwnerWhoMayComeBack) {
  FakeDevice device;
  WorkspacePool pool(device);
  int a = 0, b = 0;
  pool.release(&a);  // unknown: nothing happens
  pool.reserve(&a, nullptr, 128, 0);
  pool.reserve(&a, nullptr, 4096, 0);
  pool.reserve(&b, nullptr, 128, 0);
  void* const of_b = pool.find(&b, 128, 0);
  pool.release(&a);
  EXPECT_EQ(device.allocated_bytes(), 128);
  EXPECT_EQ(pool.find(&a, 1, 0), nullptr);
  EXPECT_EQ(pool.find(&b, 128, 0), of_b);
  pool.reserve(&a, nullptr, 64, 0);
  EXPECT_NE(pool.find(&a, 64, 0), nullptr);
  EXPECT_EQ(pool.find(&a, 128, 0), nullptr) << "its history is gone";
}

TEST(WorkspacePool, HoldsManyOwners) {
  FakeDevice device;
  WorkspacePool pool(device);
  std::vector<char> owners(1000);
  std::vector<void*> blocks;
  for (const char& owner : owners) {
    pool.reserve(&owner, nullptr, 64, 0);
    blocks.push_back(pool.find(&owner, 64, 0));
  }
  for (std::size_t i = 0; i < owners.size(); ++i) {
    EXPECT_EQ(pool.find(&owners[i], 64, 0), blocks[i]);
  }
  std::sort(blocks.begin(), blocks.end());
  EXPECT_EQ(std::adjacent_find(blocks.begin(), blocks.end()), blocks.end());
  EXPECT_EQ(blocks.front() == nullptr, false);
}

TEST(WorkspacePool, DoesNotGrowDuringACapture) {
  FakeDevice device;
  WorkspacePool pool(device);
  const OwnedStream stream(device);
  pool.reserve(stream.handle(), stream.handle(), 256, 64);
  Capture capture(device, stream.handle());
  pool.reserve(stream.handle(), stream.handle(), 256, 64);
  expect_error(Code::kConflict, {"512 bytes", "cuda:0", "capturing", "prepare the largest problem"},
               [&] { pool.reserve(stream.handle(), stream.handle(), 512, 64); });
  EXPECT_NE(pool.find(stream.handle(), 256, 64), nullptr);
  EXPECT_NO_THROW(capture.finish()) << "the refusal left the capture valid";
}

TEST(WorkspacePool, RefusesSizesThatNoImplementationMayAskFor) {
  FakeDevice device;
  WorkspacePool pool(device);
  expect_error(Code::kInternal, {"128 bytes", "first 192 zero", "must lie within it"},
               [&] { pool.reserve(&pool, nullptr, 128, 192); });
  expect_error(Code::kInternal, {"-1 bytes"}, [&] { pool.reserve(&pool, nullptr, -1, 0); });
  expect_error(Code::kInternal, {"first 4 bytes zero", "a multiple of 64", "round it up"},
               [&] { pool.reserve(&pool, nullptr, 128, 4); });
}

TEST(WorkspacePool, ShortageIsAnErrorAndKeepsWhatThereWas) {
  FakeDevice device({.memory_bytes = 4096});
  WorkspacePool pool(device);
  pool.reserve(&pool, nullptr, 1024, 0);
  void* const before = pool.find(&pool, 1024, 0);
  expect_error(Code::kEnvironment, {"8192 bytes", "cuda:0", "3072 of 4096"},
               [&] { pool.reserve(&pool, nullptr, 8192, 0); });
  EXPECT_EQ(pool.find(&pool, 1024, 0), before);
}

// Threads look up, each its own owner, while others grow theirs and the table grows under all.
TEST(WorkspacePool, LookupsRunBesideGrowth) {
  FakeDevice device;
  WorkspacePool pool(device);
  constexpr int kThreads = 6, kOwners = 40, kRounds = 12;
  std::vector<std::vector<char>> owners(kThreads, std::vector<char>(kOwners));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 1; round <= kRounds; ++round) {
        for (const char& owner : owners[static_cast<std::size_t>(t)]) {
          const std::int64_t bytes = 64 * (round + 1);
          pool.reserve(&owner, nullptr, bytes, 64);
          auto* const data = static_cast<std::byte*>(pool.find(&owner, bytes, 64));
          if (data == nullptr || !all_equal(data, 64, std::byte{0})) {
            ++wrong;
            continue;
          }
          std::memset(data + 64, t + 1, static_cast<std::size_t>(bytes - 64));
          for (int i = 0; i < 20; ++i) {
            if (pool.find(&owner, bytes, 64) != data) ++wrong;
          }
          if (!all_equal(data + 64, bytes - 64, static_cast<std::byte>(t + 1))) ++wrong;
          if (round == kRounds / 2) pool.release(&owner);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Several threads launch on one stream, as an inference server does.
TEST(WorkspacePool, ReadersOfOneOwnerRunBesideItsGrowth) {
  FakeDevice device;
  WorkspacePool pool(device);
  int owner = 0;
  pool.reserve(&owner, nullptr, 64, 0);
  std::atomic<bool> done{false};
  std::atomic<int> missing{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      while (!done) {
        if (pool.find(&owner, 64, 0) == nullptr) ++missing;
      }
    });
  }
  for (std::int64_t bytes = 128; bytes <= 1 << 16; bytes *= 2) {
    pool.reserve(&owner, nullptr, bytes, 0);
    std::this_thread::yield();
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(missing, 0);
}

}  // namespace
}  // namespace kw::runtime
