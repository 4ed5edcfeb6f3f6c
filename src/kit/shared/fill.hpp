// SPDX-License-Identifier: Apache-2.0
// The value of one element of a test input: the only description of the fills, for host and device.
// Integer arithmetic, powers of two and exact products, so that both make the same bits.
// Freestanding.
#pragma once

#include "kernelwright/kit/shared/philox.hpp"

namespace kw::kit {

enum class Fill : int {
  kNormal,         // N(0, 1) as the sum of twelve 16-bit lanes; within +-6
  kNormalOutlier,  // the same, every 512th channel times 40
  kUniform,        // [-1, 1)
  kExactInt,       // small integers: products and sums stay exact in float32
  kBig,            // squares fit float32 but not the storage type: 2^48, f16 2^14
  kTiny,           // subnormal or nearly: 2^-130, f16 2^-20
  kMixedMag,       // neighbours 2^20 and 2^-20, f16 2^8 and 2^-8
  kConst,          // every row constant
  kZeros,
  kZeroRows,  // every third row zero
  kNanRow,    // NaN in every fifth channel of the middle row
  kInfElem,   // one infinity, in the middle row
};
inline constexpr const char* kFillNames[] = {"normal", "normal_outlier", "uniform",   "exact_int",
                                             "big",    "tiny",           "mixed_mag", "const",
                                             "zeros",  "zero_rows",      "nan_row",   "inf_elem"};

enum class FillType : int { kF64, kF32, kF16, kBF16, kI64, kI32, kU8, kBool };
inline constexpr const char* kFillTypeNames[] = {"f64", "f32", "f16", "bf16",
                                                 "i64", "i32", "u8",  "bool"};

constexpr bool is_float(FillType type) { return type <= FillType::kBF16; }

// What is the same for all elements of a tensor.
struct FillRule {
  unsigned long long key = 0;
  long long width = 1;       // elements of a row
  long long middle_row = 0;  // of kNanRow and kInfElem
  long long radius = 4;      // of kExactInt
  double unit = 0;           // of random values: 2^(exponent - 16)
};

// Whether an element is made from one random word; the others come from a normal number.
constexpr bool uses_words(Fill fill, FillType type) {
  return !is_float(type) || fill == Fill::kUniform || fill == Fill::kExactInt ||
         fill == Fill::kBig || fill == Fill::kTiny;
}

// Words of elements 4 * first_counter onwards.
template <int kLanes>
constexpr void fill_words(unsigned long long key, unsigned long long first_counter,
                          unsigned (&out)[4 * kLanes]) {
  unsigned words[4][kLanes] = {};
  philox(key, first_counter, 0, words);
  for (int i = 0; i < kLanes; ++i) {
    for (int w = 0; w < 4; ++w) out[4 * i + w] = words[w][i];
  }
}

// The same as standard normals, in units of 2^-16.
template <int kLanes>
constexpr void fill_normals(unsigned long long key, unsigned long long first_counter,
                            int (&out)[4 * kLanes]) {
  int sums[4][kLanes] = {};
  for (int w = 0; w < 4; ++w) {
    for (int i = 0; i < kLanes; ++i) sums[w][i] = -6 * 65536;
  }
  for (unsigned block = 0; block < 6; ++block) {
    unsigned words[4][kLanes] = {};
    philox(key, first_counter, block, words);
    for (int w = 0; w < 4; ++w) {
      for (int i = 0; i < kLanes; ++i)
        sums[w][i] += static_cast<int>((words[w][i] & 0xffffU) + (words[w][i] >> 16));
    }
  }
  for (int i = 0; i < kLanes; ++i) {
    for (int w = 0; w < 4; ++w) out[4 * i + w] = sums[w][i];
  }
}

constexpr double word_value(Fill fill, FillType type, const FillRule& rule, unsigned word) {
  if (type == FillType::kBool) return word & 1U;
  if (!is_float(type)) return word & 3U;
  if (fill == Fill::kUniform) return (static_cast<int>(word >> 8) - (1 << 23)) * rule.unit * 0x1p-7;
  if (fill == Fill::kExactInt) {
    const unsigned long long choices = 2 * static_cast<unsigned long long>(rule.radius) + 1;
    return static_cast<double>((word * choices) >> 32) - static_cast<double>(rule.radius);
  }
  const bool narrow = type == FillType::kF16;
  const double scale =
      fill == Fill::kBig ? (narrow ? 0x1p14 : 0x1p48) : (narrow ? 0x1p-20 : 0x1p-130);
  const double magnitude = ((1U << 23) + (word >> 9)) * 0x1p-23 * scale;  // in [1, 2) times scale
  return (word & 1U) != 0 ? -magnitude : magnitude;
}

// `index`: of the element, in row-major order.
constexpr double normal_value(Fill fill, FillType type, const FillRule& rule, int normal,
                              long long index) {
  const double value = normal * rule.unit;
  if (fill == Fill::kNormal) return value;
  if (fill == Fill::kZeros) return 0;
  if (fill == Fill::kMixedMag) {
    const bool narrow = type == FillType::kF16;
    return value * (index % 2 == 0 ? (narrow ? 0x1p8 : 0x1p20) : (narrow ? 0x1p-8 : 0x1p-20));
  }
  const long long row = index / rule.width, channel = index % rule.width;
  if (fill == Fill::kNormalOutlier) return channel % 512 == 0 ? value * 40 : value;
  if (fill == Fill::kConst) return static_cast<double>(1 + row % 7) * (row % 2 == 0 ? 0.25 : -0.25);
  if (fill == Fill::kZeroRows) return row % 3 == 0 ? 0 : value;
  if (row != rule.middle_row) return value;
  if (fill == Fill::kNanRow)
    return channel % 5 == 0 ? __builtin_bit_cast(double, 0x7ff8000000000000ULL) : value;
  return channel == rule.width / 2 ? __builtin_bit_cast(double, 0x7ff0000000000000ULL)
                                   : value;  // kInfElem
}

// Kernels that fill device memory.
struct FillCfg {
  Fill fill = Fill::kNormal;
  FillType type = FillType::kBF16;
  bool dense = true;  // elements stand in memory in their row-major order
  int threads = 256;

  static constexpr void visit(auto& self, auto& v) {
    v("fill", self.fill, kFillNames);
    v("type", self.type, kFillTypeNames);
    v("dense", self.dense);
    v("threads", self.threads);
  }
};

inline constexpr int kMaxFillRank = 8;

struct FillArgs {
  void* data = nullptr;
  long long count = 0;  // distinct elements
  FillRule rule;
  // Unless dense. An element has an offset in memory and an index among all, shared ones included.
  int rank = 0;
  long long sizes[kMaxFillRank] = {};
  long long strides[kMaxFillRank] = {};
  long long index_strides[kMaxFillRank] = {};
};

// The kernel that compares memory, both sides aligned to 8.
struct CompareCfg {
  int threads = 256;

  static constexpr void visit(auto& self, auto& v) { v("threads", self.threads); }
};

struct CompareArgs {
  const unsigned long long* first = nullptr;
  const unsigned long long* second = nullptr;
  long long words = 0;
  unsigned* differs = nullptr;  // set to 1 when a word does
};

}  // namespace kw::kit
