// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/backend/cpu/cpu_device.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "kernelwright/backend/cpu/cpu_features.hpp"
#include "kernelwright/backend/cpu/cpu_topology.hpp"
#include "kernelwright/core/environment.hpp"
#include "support/expect_error.hpp"

namespace kw::runtime {
namespace {

using test::expect_error;

TEST(CpuDevice, DescribesThisMachine) {
  const CpuDevice device;
  const Hardware& hardware = device.hardware();
  EXPECT_EQ(device.name(), "cpu");
  EXPECT_EQ(hardware.kind, DeviceKind::kCpu);
  EXPECT_FALSE(hardware.model.empty());
  EXPECT_GT(hardware.last_level_cache_bytes, 1 << 18);
  EXPECT_EQ(hardware.units, environment().num_threads.value_or(allowed_processors()));

  // The kernel's own list leaves out what it does not enable, as the probe must.
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line) && line.rfind("flags", 0) != 0) continue;
  std::istringstream words(line);
  const std::vector<std::string> flags{std::istream_iterator<std::string>(words), {}};
  if (flags.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  for (const std::string& feature : hardware.features) {
    EXPECT_NE(std::find(flags.begin(), flags.end(), feature), flags.end()) << feature;
  }
  const bool avx512 = std::find(flags.begin(), flags.end(), "avx512vl") != flags.end();
  EXPECT_EQ(hardware.capability == 3, avx512);
}

TEST(CpuDevice, CanPretendToHaveLess) {
  const CpuDevice full;
  const CpuDevice device({.max_capability = 2, .threads = 7});
  EXPECT_EQ(device.hardware().capability, std::min(2, full.hardware().capability));
  EXPECT_EQ(device.hardware().units, 7);
  for (const std::string& feature : device.hardware().features) {
    EXPECT_EQ(feature.find("avx512"), std::string::npos);
  }
  EXPECT_EQ(CpuDevice({.max_capability = 1}).hardware().capability, 1);
}

TEST(CpuDevice, RefusesOptionsOutOfRange) {
  expect_error(Code::kInvalidArgument, {"capability 4", "1 (baseline), 2 (avx2), 3 (avx512)"},
               [] { CpuDevice({.max_capability = 4}); });
  expect_error(Code::kInvalidArgument, {"0 threads", "at least 1"},
               [] { CpuDevice({.threads = 0}); });
}

TEST(CpuDevice, SaysWhatACpuHasNot) {
  CpuDevice device;
  EXPECT_FALSE(device.has_graphs());
  EXPECT_FALSE(device.is_capturing(nullptr));
  expect_error(Code::kUnsupported, {"cpu has no graphs", "eager mode", "cuda"},
               [&] { Capture(device, nullptr); });
  expect_error(Code::kUnsupported, {"cpu has no graphs"}, [&] { device.end_capture(nullptr); });
  expect_error(Code::kUnsupported, {"cpu has no loadable modules", "compiled into the library"},
               [&] { device.load_module({}); });
}

TEST(CpuDevice, RefusesStreamHandles) {
  CpuDevice device;
  int foreign = 0;
  char bytes[8] = {};
  const auto event = device.create_event();
  const auto refused = [&](auto&& call) {
    expect_error(Code::kInvalidArgument, {"given to cpu, which has none", "null handle"}, call);
  };
  refused([&] { device.copy(bytes, bytes, 8, &foreign); });
  refused([&] { device.fill(bytes, 0, 8, &foreign); });
  refused([&] { device.synchronize(&foreign); });
  refused([&] { device.reserve_workspace(&foreign, 64, 0); });
  refused([&] { event->record(&foreign); });
  refused([&] { event->block(&foreign); });
  const OwnedStream stream(device);
  EXPECT_EQ(stream.handle(), nullptr);
  EXPECT_NO_THROW(stream.synchronize());
}

TEST(CpuDevice, MemoryIsAlignedAndCopiedAtOnce) {
  CpuDevice device;
  for (const std::int64_t bytes : {1, 63, 64, 65, 100000}) {
    const Buffer buffer(device, bytes);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
    device.fill(buffer.data(), 0x5A, bytes, nullptr);
    EXPECT_EQ(buffer.data()[bytes - 1], std::byte{0x5A});
  }
  const Buffer buffer(device, 16);
  std::memcpy(buffer.data(), "0123456789abcdef", 16);
  device.copy(buffer.data() + 4, buffer.data(), 8, nullptr);  // overlapping
  EXPECT_EQ(std::memcmp(buffer.data(), "012301234567cdef", 16), 0);
  device.copy(nullptr, nullptr, 0, nullptr);
  device.fill(nullptr, 0, 0, nullptr);
}

TEST(CpuDevice, ShortageOfMemoryIsAnError) {
  CpuDevice device;
  const MemoryInfo memory = device.memory_info();
  EXPECT_GT(memory.free_bytes, 0);
  EXPECT_LE(memory.free_bytes, memory.total_bytes);
  expect_error(Code::kEnvironment, {"1152921504606846976 bytes on cpu", "are available"},
               [&] { Buffer(device, std::int64_t{1} << 60); });
}

TEST(CpuDevice, EventsMeasureWallTime) {
  CpuDevice device;
  const auto start = device.create_event();
  const auto end = device.create_event();
  expect_error(Code::kInvalidArgument, {"never recorded"},
               [&] { static_cast<void>(end->elapsed_ns_since(*start)); });
  start->record(nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  end->record(nullptr);
  end->block(nullptr);
  end->synchronize();
  EXPECT_GE(end->elapsed_ns_since(*start), 3e6);
  EXPECT_LT(end->elapsed_ns_since(*start), 3e9);
}

TEST(CpuDevice, EachThreadHasItsOwnWorkspaceUntilItEnds) {
  CpuDevice device;
  device.reserve_workspace(nullptr, 256, 64);
  void* const mine = device.workspace(nullptr, 256, 64);
  ASSERT_NE(mine, nullptr);
  const std::int64_t before = device.reserved_workspace_bytes();

  std::thread([&] {
    EXPECT_EQ(device.workspace(nullptr, 256, 64), nullptr) << "reserved by another thread";
    device.reserve_workspace(nullptr, 1024, 64);
    void* const its = device.workspace(nullptr, 1024, 64);
    EXPECT_NE(its, nullptr);
    EXPECT_NE(its, mine);
    EXPECT_GT(device.reserved_workspace_bytes(), before);
  }).join();
  EXPECT_EQ(device.reserved_workspace_bytes(), before) << "freed with its thread";
  EXPECT_EQ(device.workspace(nullptr, 256, 64), mine);
}

TEST(CpuDevice, MayEndBeforeTheThreadsThatUsedIt) {
  auto device = std::make_unique<CpuDevice>();
  std::atomic<int> step{0};
  std::thread worker([&] {
    device->reserve_workspace(nullptr, 4096, 0);
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  device.reset();
  step = 2;
  worker.join();
}

TEST(CpuDevice, ManyThreadsComeAndGo) {
  CpuDevice device;
  std::atomic<int> wrong{0};
  for (int wave = 0; wave < 20; ++wave) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::int64_t bytes = 128; bytes <= 4096; bytes *= 2) {
          device.reserve_workspace(nullptr, bytes, 64);
          auto* const data = static_cast<std::byte*>(device.workspace(nullptr, bytes, 64));
          const auto* const end = data + 64;
          if (std::find_if(data, data + 64, [](std::byte b) { return b != std::byte{}; }) != end) {
            ++wrong;
          }
          std::memset(data + 64, t + 1, static_cast<std::size_t>(bytes - 64));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(device.reserved_workspace_bytes(), 0);
}

TEST(CpuTopology, CountsTheProcessorsOfTheMainThread) {
  const int all = allowed_processors();
  EXPECT_GE(all, 1);
  int seen = 0;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    seen = allowed_processors();
  }).join();
  EXPECT_EQ(seen, all) << "a pinned thread does not shrink the device";
}

TEST(CpuTopology, FindsTheLargestLevel) {
  const std::filesystem::path root =
      std::filesystem::path(::testing::TempDir()) / "kw_cache_topology";
  const auto cache = [&](int index, const char* level, const char* type, const char* size) {
    const auto directory = root / ("index" + std::to_string(index));
    std::filesystem::create_directories(directory);
    std::ofstream(directory / "level") << level << '\n';
    std::ofstream(directory / "type") << type << '\n';
    std::ofstream(directory / "size") << size << '\n';
  };
  cache(0, "1", "Data", "48K");
  cache(1, "1", "Instruction", "64K");
  cache(2, "3", "Unified", "32M");
  cache(3, "2", "Unified", "2048K");
  EXPECT_EQ(last_level_cache_bytes(root.string()), std::int64_t{32} << 20);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace kw::runtime
