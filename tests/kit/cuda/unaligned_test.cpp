// SPDX-License-Identifier: Apache-2.0
// Unaligned rows without a GPU: the header is compiled for the host, memory accesses are checked
// one by one, and the lanes of a warp run in turn. A shuffle gives what its source handed over in
// the pass before, so that each pass over the lanes makes one more shuffle true; the last one
// stores.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

constexpr int kWarp = 32, kShuffles = 4, kSpace = 1 << 15;

struct Memory {
  alignas(16) std::array<unsigned char, kSpace> bytes{};
  std::array<int, kSpace> writes{};
  int first = 0, last = 0;  // bytes that may be accessed
};

struct Emulator {
  Memory in, out;
  std::vector<unsigned char> shared;
  std::array<std::array<unsigned, kWarp>, kShuffles> handed{}, before{};
  int lane = 0, shuffle = 0;
  bool stores = false;
  std::string errors;

  void fail(const char* what, long long at) {
    if (errors.size() < 400) errors += fmt::format("{} at {}; ", what, at);
  }
  unsigned exchange(unsigned value, int source) {
    const auto level = static_cast<std::size_t>(shuffle++);
    handed.at(level).at(static_cast<std::size_t>(lane)) = value;
    return before.at(level).at(static_cast<std::size_t>(source));
  }
};
Emulator emulator;

// The names are CUDA's. NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((static_cast<std::uint64_t>(high) << 32) | low) >> (shift & 31));
}
unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((((static_cast<std::uint64_t>(high) << 32) | low) << (shift & 31)) >>
                               32);
}
unsigned __shfl_sync(unsigned /*mask*/, unsigned value, int source, int width) {
  return emulator.exchange(value, emulator.lane / width * width + (source & (width - 1)));
}
unsigned __shfl_up_sync(unsigned /*mask*/, unsigned value, int delta, int width) {
  const bool inside = emulator.lane % width >= delta;
  return emulator.exchange(value, inside ? emulator.lane - delta : emulator.lane);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

}  // namespace

#pragma GCC diagnostic ignored "-Wunknown-pragmas"  // unroll
#include "kernelwright/kit/cuda/cache.cuh"

namespace kw::kit::cuda {

template <int kBytes>
void checked_load(u32* words, const void* address) {
  Memory& memory = emulator.in;
  const auto at = static_cast<const unsigned char*>(address) - memory.bytes.data();
  if (at % kBytes != 0) emulator.fail("a load is not aligned", at);
  // A word may begin before the row; nothing is read after it.
  if (at < memory.first / 4 * 4 || at + kBytes > memory.last) {
    return emulator.fail("a load leaves the row", at);
  }
  words[0] = 0;
  std::memcpy(words, address, kBytes);
}

template <int kBytes>
void checked_store(void* address, const u32* words) {
  if (!emulator.stores) return;
  Memory& memory = emulator.out;
  const auto at = static_cast<unsigned char*>(address) - memory.bytes.data();
  if (at % kBytes != 0) emulator.fail("a store is not aligned", at);
  if (at < memory.first || at + kBytes > memory.last) {
    return emulator.fail("a store leaves the row", at);
  }
  std::memcpy(address, words, kBytes);
  for (int i = 0; i < kBytes; ++i) ++memory.writes.at(static_cast<std::size_t>(at + i));
}

template <>
void load_words<2, CachePolicy::kDefault>(u32* words, const void* address) {
  checked_load<2>(words, address);
}
template <>
void load_words<4, CachePolicy::kDefault>(u32* words, const void* address) {
  checked_load<4>(words, address);
}
template <>
void store_words<2, CachePolicy::kDefault>(void* address, const u32* words) {
  checked_store<2>(address, words);
}
template <>
void store_words<4, CachePolicy::kDefault>(void* address, const u32* words) {
  checked_store<4>(address, words);
}
template <>
void store_words<16, CachePolicy::kDefault>(void* address, const u32* words) {
  checked_store<16>(address, words);
}
template <>
void load_shared_words<16>(u32* words, u32 address) {
  if (address % 16 != 0 || address + 16 > emulator.shared.size()) {
    return emulator.fail("a load leaves the stage", address);
  }
  std::memcpy(words, emulator.shared.data() + address, 16);
}

}  // namespace kw::kit::cuda

#include "kernelwright/kit/cuda/unaligned.cuh"

namespace kw::kit::cuda {
namespace {

// One row of kElements on kThreads threads, at every address.
template <typename T, int kThreads, int kElements>
struct RowAtAnyAddress {
  static constexpr int kLanes = kThreads < kWarp ? kThreads : kWarp;
  static constexpr int kCount = 16 / static_cast<int>(sizeof(T));
  static constexpr int kVectors = (kElements + kThreads * kCount - 1) / (kThreads * kCount);
  static constexpr int kBytes = kElements * static_cast<int>(sizeof(T));
  using Row = UnalignedRow<T, kLanes, kElements>;
  using Chunk = typename Row::Chunk;

  static bool whole(int v) { return (v + 1) * kThreads * kCount <= kElements; }

  static u32 bits_of(T value) {
    u32 bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }

  static void expect_chunk(const Chunk& chunk, int column, bool present) {
    for (int i = 0; i < kCount; ++i) {
      T got{}, wanted{};
      const u32 word = chunk.element(i);
      std::memcpy(&got, &word, sizeof got);
      if (present && column + i < kElements) {
        std::memcpy(&wanted,
                    emulator.in.bytes.data() + emulator.in.first + (column + i) * sizeof(T),
                    sizeof wanted);
      }
      if (bits_of(got) != bits_of(wanted)) emulator.fail("a wrong element", column + i);
    }
  }

  // A warp's lanes at access v; those beyond the threads of a narrow row belong to an absent one.
  static void run_warp(int warp, int v, bool present) {
    const auto* x = reinterpret_cast<const T*>(emulator.in.bytes.data() + emulator.in.first);
    auto* y = reinterpret_cast<T*>(emulator.out.bytes.data() + emulator.out.first);
    for (int pass = 0; pass <= kShuffles; ++pass) {
      emulator.stores = pass == kShuffles;
      for (emulator.lane = 0; emulator.lane < kWarp; ++emulator.lane) {
        const int thread = warp * kWarp + emulator.lane, lane = thread % kThreads;
        const bool there = present && thread < kThreads;
        const int column = (v * kThreads + lane) * kCount;
        const Chunk chunk =
            Row(x, lane).template load<CachePolicy::kDefault>(column, whole(v), there);
        if (pass == 0) expect_chunk(chunk, column, there);
        emulator.shuffle = 0;
        Row(y, lane).template store<CachePolicy::kDefault>(chunk, column, whole(v), there);
      }
      emulator.before = emulator.handed;
    }
  }

  static void run() {
    for (int shift = 0; shift < 16; shift += static_cast<int>(sizeof(T))) {
      emulator = Emulator();
      for (std::size_t i = 0; i < kSpace; ++i) {
        emulator.in.bytes.at(i) = static_cast<unsigned char>(i * 167 >> 3 ^ i);
      }
      emulator.in.first = 32 + shift;
      emulator.out.first = 32 + (shift + 6 * static_cast<int>(sizeof(T))) % 16;
      emulator.in.last = emulator.in.first + kBytes;
      emulator.out.last = emulator.out.first + kBytes;
      for (int warp = 0; warp * kWarp < kThreads; ++warp) {
        for (int v = 0; v < kVectors; ++v) run_warp(warp, v, false);
      }
      for (const int count : emulator.out.writes) ASSERT_EQ(count, 0);
      for (int warp = 0; warp * kWarp < kThreads; ++warp) {
        for (int v = 0; v < kVectors; ++v) run_warp(warp, v, true);
      }
      for (int i = 0; i < kBytes; ++i) {
        const auto from = static_cast<std::size_t>(emulator.in.first + i),
                   to = static_cast<std::size_t>(emulator.out.first + i);
        if (emulator.out.writes.at(to) != 1) emulator.fail("not written once", i);
        if (emulator.out.bytes.at(to) != emulator.in.bytes.at(from)) emulator.fail("wrong byte", i);
      }
      run_shared();
      ASSERT_EQ(emulator.errors, "") << kElements << " of " << sizeof(T) << " bytes on " << kThreads
                                     << " threads, shift " << shift;
    }
  }

  // What lies beside the row in a stage may be anything.
  static void run_shared() {
    if (kThreads < kWarp) return;
    emulator.shared.assign(static_cast<std::size_t>(kVectors * kThreads * 16 + 16), 0xff);
    const int shift = emulator.in.first % 16;
    std::memcpy(emulator.shared.data() + shift, emulator.in.bytes.data() + emulator.in.first,
                kBytes);
    const auto* x = reinterpret_cast<const T*>(emulator.in.bytes.data() + emulator.in.first);
    for (int v = 0; v < kVectors; ++v) {
      for (int lane = 0; lane < kThreads; ++lane) {
        const int column = (v * kThreads + lane) * kCount;
        const auto here = static_cast<u32>(column / kCount * 16);
        expect_chunk(Row(x, lane).load_shared(here, column, whole(v), true), column, true);
      }
    }
  }
};

template <typename T, int kThreads, int... kElements>
void run_all() {
  (RowAtAnyAddress<T, kThreads, kElements>::run(), ...);
}

TEST(UnalignedRow, NarrowRowsArriveWholeAndNothingElseIsTouched) {
  run_all<bf16, 1, 1, 2, 7, 8>();
  run_all<bf16, 2, 9, 15, 16>();
  run_all<bf16, 4, 26, 32>();
  run_all<bf16, 16, 121, 122, 127, 128>();
  run_all<float, 1, 1, 3, 4>();
  run_all<float, 16, 61, 63, 64>();
}

TEST(UnalignedRow, WideRowsArriveWholeAndNothingElseIsTouched) {
  run_all<bf16, 32, 257, 258, 512, 1000>();
  run_all<bf16, 96, 768, 769, 770, 774, 1535, 2303>();
  run_all<float, 32, 129, 130>();
  run_all<float, 64, 257, 510, 511, 512, 1021>();
}

}  // namespace
}  // namespace kw::kit::cuda
