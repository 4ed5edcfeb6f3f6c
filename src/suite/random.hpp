// SPDX-License-Identifier: Apache-2.0
// Keys of random words by name, and a sequential source over Philox. The words themselves, and the
// mixer of keys and canaries: kit/shared/philox.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernelwright/kit/shared/philox.hpp"

namespace kw::suite {

using kit::mix64;

// FNV-1a: names of tensor roles to key material. Stable across releases.
constexpr std::uint64_t name_hash(std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

using PhiloxBlock = std::array<std::uint32_t, 4>;

inline PhiloxBlock philox(std::uint64_t key, std::uint64_t counter, std::uint32_t block) noexcept {
  std::uint32_t words[4][1];
  kit::philox(key, counter, block, words);
  return {words[0][0], words[1][0], words[2][0], words[3][0]};
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
