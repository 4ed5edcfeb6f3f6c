// SPDX-License-Identifier: Apache-2.0
// Counter-based random words: Philox4x32-10 (Salmon et al., SC 2011), and the 64-bit mixer of its
// keys. A value depends on (key, counter) only, so any element can be made alone, on host and
// device alike. Freestanding.
#pragma once

namespace kw::kit {

// Finaliser of splitmix64: a bijection that spreads every input bit.
constexpr unsigned long long mix64(unsigned long long x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// kLanes consecutive counters at once, word w of counter i in words[w][i]: the loops over lanes
// become vector code. `block` distinguishes several words of randomness for one counter.
template <int kLanes>
constexpr void philox(unsigned long long key, unsigned long long first_counter, unsigned block,
                      unsigned (&words)[4][kLanes]) {
  for (int i = 0; i < kLanes; ++i) {
    const unsigned long long counter = first_counter + static_cast<unsigned long long>(i);
    words[0][i] = static_cast<unsigned>(counter);
    words[1][i] = static_cast<unsigned>(counter >> 32);
    words[2][i] = block;
    words[3][i] = 0;
  }
  auto k0 = static_cast<unsigned>(key);
  auto k1 = static_cast<unsigned>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kLanes; ++i) {
      const unsigned long long p0 = 0xd2511f53ULL * words[0][i];
      const unsigned long long p1 = 0xcd9e8d57ULL * words[2][i];
      const unsigned w0 = static_cast<unsigned>(p1 >> 32) ^ words[1][i] ^ k0;
      const unsigned w2 = static_cast<unsigned>(p0 >> 32) ^ words[3][i] ^ k1;
      words[1][i] = static_cast<unsigned>(p1);
      words[3][i] = static_cast<unsigned>(p0);
      words[0][i] = w0;
      words[2][i] = w2;
    }
    k0 += 0x9e3779b9U;
    k1 += 0xbb67ae85U;
  }
}

}  // namespace kw::kit
