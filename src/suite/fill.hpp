// SPDX-License-Identifier: Apache-2.0
// The catalogue of inputs. An element is a pure function of (seed, tensor name, logical index): the
// same bits for every stride, thread count and device. Integer arithmetic, powers of two and one
// round-to-nearest-even; no libm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernelwright/base/tensor.hpp"

namespace kw::suite {

enum class Fill : std::uint8_t {
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

std::string_view fill_name(Fill fill) noexcept;
// Throws Error(kNotFound) with the catalogue.
Fill parse_fill(std::string_view name);
const std::vector<Fill>& fill_catalogue() noexcept;

// Whether rounding errors under this fill behave like independent random numbers: not where one
// channel outweighs the others.
bool is_random(Fill fill) noexcept;
// Whether so few values occur that rounding errors repeat.
bool is_discrete(Fill fill) noexcept;
// Whether the fill describes rows, so that operands without rows (weights) get `normal` instead.
bool is_row_fill(Fill fill) noexcept;

// Scale of inputs that carry rows, as an exponent of 2: far enough from unit variance that a
// normalisation is not the identity.
int batch_exponent(Fill fill) noexcept;

struct FillKey {
  Fill fill = Fill::kNormal;
  std::uint64_t seed = 0;
  std::string_view name;       // of the tensor: "x", "weight", "list[3]"
  std::int64_t row_width = 1;  // elements of one row: product of the dimensions behind `*`
  int exponent = 0;            // random fills are scaled by 2^exponent
};

// Writes the elements of `view`; bytes between them stay. Where strides make indices share memory,
// the element of the lowest index is written. Integer dtypes get values in 0..3, bool 0 or 1.
void fill_tensor(const TensorView& view, const FillKey& key);

}  // namespace kw::suite
