// SPDX-License-Identifier: Apache-2.0
// Fills of test inputs and comparison of memory, for the suite and the tuner: bits as on the host.
#pragma once

#include "kernelwright/kit/cuda/types.cuh"
#include "kernelwright/kit/shared/fill.hpp"

namespace kw::kit::cuda {

// Conversions of the hardware turn NaN into a pattern of their own; the host's has one bit set.
template <FillType kType>
inline void store_fill(void* data, i64 offset, double value) {
  const bool nan = value != value;
  if constexpr (kType == FillType::kF64) {
    static_cast<u64*>(data)[offset] = nan ? 0x7ff8000000000000ULL : __builtin_bit_cast(u64, value);
  } else if constexpr (kType == FillType::kF32) {
    static_cast<u32*>(data)[offset] = nan ? 0x7fc00000U : f32_to_bits(static_cast<float>(value));
  } else if constexpr (kType == FillType::kF16 || kType == FillType::kBF16) {
    constexpr bool kHalf = kType == FillType::kF16;
    // To float by truncation, the lost part as a last bit: then one rounding, not two.
    float odd;
    asm("cvt.rz.f32.f64 %0, %1;" : "=f"(odd) : "d"(value));
    if (static_cast<double>(odd) != value) odd = bits_to_f32(f32_to_bits(odd) | 1U);
    const u32 bits = kHalf ? from_f32<f16>(odd) : from_f32<bf16>(odd);
    const u32 quiet = kHalf ? 0x7e00U : 0x7fc0U;
    static_cast<unsigned short*>(data)[offset] = static_cast<unsigned short>(nan ? quiet : bits);
  } else if constexpr (kType == FillType::kI64) {
    static_cast<i64*>(data)[offset] = static_cast<i64>(value);
  } else if constexpr (kType == FillType::kI32) {
    static_cast<int*>(data)[offset] = static_cast<int>(value);
  } else {
    static_cast<unsigned char*>(data)[offset] = static_cast<unsigned char>(value);
  }
}

// Elements 4 * counter to 4 * counter + 3.
template <FillCfg kCfg>
inline void fill_four(const FillRule& rule, u64 counter, double (&values)[4]) {
  if constexpr (uses_words(kCfg.fill, kCfg.type)) {
    u32 words[4];
    fill_words<1>(rule.key, counter, words);
    for (int i = 0; i < 4; ++i) values[i] = word_value(kCfg.fill, kCfg.type, rule, words[i]);
  } else {
    int normals[4];
    fill_normals<1>(rule.key, counter, normals);
    for (int i = 0; i < 4; ++i) {
      values[i] =
          normal_value(kCfg.fill, kCfg.type, rule, normals[i], static_cast<i64>(4 * counter) + i);
    }
  }
}

template <FillCfg kCfg>
void fill(const FillArgs& args) {
  const i64 first = static_cast<i64>(blockIdx.x) * kCfg.threads + threadIdx.x;
  const i64 step = static_cast<i64>(gridDim.x) * kCfg.threads;
  double values[4];
  if constexpr (kCfg.dense) {
    for (i64 at = 4 * first; at < args.count; at += 4 * step) {
      fill_four<kCfg>(args.rule, static_cast<u64>(at) / 4, values);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (at + i < args.count) store_fill<kCfg.type>(args.data, at + i, values[i]);
      }
    }
  } else {
    for (i64 element = first; element < args.count; element += step) {
      i64 rest = element, offset = 0, index = 0;
      for (int d = args.rank - 1; d >= 0; --d) {
        const i64 at = rest % args.sizes[d];
        rest /= args.sizes[d];
        offset += at * args.strides[d];
        index += at * args.index_strides[d];
      }
      fill_four<kCfg>(args.rule, static_cast<u64>(index) / 4, values);
      double value = values[0];
#pragma unroll
      for (int i = 1; i < 4; ++i) value = index % 4 == i ? values[i] : value;
      store_fill<kCfg.type>(args.data, offset, value);
    }
  }
}

template <CompareCfg kCfg>
void compare(const CompareArgs& args) {
  const i64 step = static_cast<i64>(gridDim.x) * kCfg.threads;
  bool differs = false;
  for (i64 i = static_cast<i64>(blockIdx.x) * kCfg.threads + threadIdx.x; i < args.words;
       i += step) {
    differs |= args.first[i] != args.second[i];
  }
  if (differs) *args.differs = 1;  // every writer writes the same
}

}  // namespace kw::kit::cuda
