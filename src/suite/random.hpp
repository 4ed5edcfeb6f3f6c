// SPDX-License-Identifier: Apache-2.0
// Counter-based random words: Philox4x32-10 (Salmon et al., SC 2011), and the 64-bit mixer used for
// keys and canaries. A value depends on (key, counter) only, so any element can be made alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kw::suite {

// Finaliser of splitmix64: a bijection that spreads every input bit.
constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// FNV-1a: names of tensor roles to key material. Stable across releases.
constexpr std::uint64_t name_hash(std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

using PhiloxBlock = std::array<std::uint32_t, 4>;

// kLanes consecutive counters at once, word w of counter i in words[w][i]: the loops over lanes
// become vector code. `block` distinguishes several words of randomness for one counter.
template <std::size_t kLanes>
struct PhiloxLanes {
  std::array<std::array<std::uint32_t, kLanes>, 4> words;

  PhiloxLanes(std::uint64_t key, std::uint64_t first_counter, std::uint32_t block) noexcept {
    for (std::size_t i = 0; i < kLanes; ++i) {
      const std::uint64_t counter = first_counter + i;
      words[0][i] = static_cast<std::uint32_t>(counter);
      words[1][i] = static_cast<std::uint32_t>(counter >> 32);
      words[2][i] = block;
      words[3][i] = 0;
    }
    auto k0 = static_cast<std::uint32_t>(key);
    auto k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      for (std::size_t i = 0; i < kLanes; ++i) {
        const std::uint64_t p0 = std::uint64_t{0xd2511f53U} * words[0][i];
        const std::uint64_t p1 = std::uint64_t{0xcd9e8d57U} * words[2][i];
        const std::uint32_t w0 = static_cast<std::uint32_t>(p1 >> 32) ^ words[1][i] ^ k0;
        const std::uint32_t w2 = static_cast<std::uint32_t>(p0 >> 32) ^ words[3][i] ^ k1;
        words[1][i] = static_cast<std::uint32_t>(p1);
        words[3][i] = static_cast<std::uint32_t>(p0);
        words[0][i] = w0;
        words[2][i] = w2;
      }
      k0 += 0x9e3779b9U;
      k1 += 0xbb67ae85U;
    }
  }
};

inline PhiloxBlock philox(std::uint64_t key, std::uint64_t counter, std::uint32_t block) noexcept {
  const PhiloxLanes<1> lane(key, counter, block);
  return {lane.words[0][0], lane.words[1][0], lane.words[2][0], lane.words[3][0]};
}

// A sequential source over Philox, for choices that need no random access: fuzz, bootstrap.
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t key) noexcept : key_(key) {}

  std::uint32_t next() noexcept {
    if (used_ == 4) {
      block_ = philox(key_, counter_++, 0);
      used_ = 0;
    }
    return block_[used_++];
  }
  // Uniform in [0, bound) for 0 < bound <= 2^32; the bias of at most 2^-32 * bound is immaterial
  // here.
  std::uint64_t below(std::uint64_t bound) noexcept {
    return (std::uint64_t{next()} * bound) >> 32;
  }
  bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }
  // In [0, 1), 32 bits.
  double unit() noexcept { return next() * 0x1p-32; }

 private:
  std::uint64_t key_, counter_ = 0;
  PhiloxBlock block_{};
  std::size_t used_ = 4;
};

}  // namespace kw::suite
