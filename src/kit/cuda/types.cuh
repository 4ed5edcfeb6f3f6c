// SPDX-License-Identifier: Apache-2.0
// Storage types bf16, f16, fp8 and their conversions, by PTX: round to nearest even, NaN stays NaN.
// Compiled with -default-device. Includes nothing: no toolkit header.
#pragma once

namespace kw::kit::cuda {

using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

template <typename A, typename B>
inline constexpr bool kSame = false;
template <typename A>
inline constexpr bool kSame<A, A> = true;

struct bf16 {
  unsigned short bits;
};
struct f16 {
  unsigned short bits;
};
struct e4m3 {
  unsigned char bits;
};
struct e5m2 {
  unsigned char bits;
};

inline float bits_to_f32(u32 bits) { return __builtin_bit_cast(float, bits); }
inline u32 f32_to_bits(float value) { return __builtin_bit_cast(u32, value); }

// One element in the low bits of a word.
template <typename T>
inline float to_f32(u32 word) {
  if constexpr (kSame<T, float>) {
    return bits_to_f32(word);
  } else if constexpr (kSame<T, bf16>) {
    return bits_to_f32(word << 16);
  } else {
    static_assert(kSame<T, f16>);
    float value;
    asm("{ .reg .b16 h, unused; mov.b32 {h, unused}, %1; cvt.f32.f16 %0, h; }"
        : "=f"(value)
        : "r"(word));
    return value;
  }
}

// Two elements of 16 bits, the first in the low half.
template <typename T>
inline void unpack_pair(u32 word, float& first, float& second) {
  if constexpr (kSame<T, bf16>) {
    first = bits_to_f32(word << 16);
    second = bits_to_f32(word & 0xffff0000U);
  } else {
    static_assert(kSame<T, f16>);
    asm("{ .reg .b16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b; }"
        : "=f"(first), "=f"(second)
        : "r"(word));
  }
}

template <typename T>
inline u32 pack_pair(float first, float second) {
  u32 word;
  if constexpr (kSame<T, bf16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  } else {
    static_assert(kSame<T, f16>);
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  }
  return word;
}

template <typename T>
inline u32 from_f32(float value) {
  if constexpr (kSame<T, float>)
    return f32_to_bits(value);
  else
    return pack_pair<T>(value, 0.0F);
}

// The nearest value of T.
template <typename T>
inline float rounded(float value) {
  if constexpr (kSame<T, float>)
    return value;
  else
    return to_f32<T>(from_f32<T>(value));
}

// fp8 pairs in the low 16 bits, the first in the low byte; finite values saturate. sm_89 and later.
template <typename T>
inline u32 pack_fp8_pair(float first, float second) {
  unsigned short pair;
  if constexpr (kSame<T, e4m3>) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(second), "f"(first));
  } else {
    static_assert(kSame<T, e5m2>);
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(second), "f"(first));
  }
  return pair;
}

template <typename T>
inline void unpack_fp8_pair(u32 word, float& first, float& second) {
  const auto pair = static_cast<unsigned short>(word);
  u32 halves;  // every fp8 value is an f16 value
  if constexpr (kSame<T, e4m3>) {
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
  } else {
    static_assert(kSame<T, e5m2>);
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(pair));
  }
  unpack_pair<f16>(halves, first, second);
}

inline float fma(float a, float b, float c) {
  float result;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
  return result;
}

// 1 / sqrt(value) to within one unit in the last place: the hardware's estimate (2^-22.9) and one
// Newton step whose residual is exact. Zero, infinity and NaN keep the estimate.
inline float reciprocal_root(float value) {
  float estimate;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(estimate) : "f"(value));
  const float product = value * estimate;
  const float residual =
      fma(-fma(value, estimate, -product), estimate, fma(-product, estimate, 1.0F));
  const float refined = fma(0.5F * estimate, residual, estimate);
  return value > 0 && value < bits_to_f32(0x7f800000U) ? refined : estimate;
}

}  // namespace kw::kit::cuda
