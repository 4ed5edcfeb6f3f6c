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
#include "kernelwright/kit/shared/fill.hpp"

namespace kw::suite {

using kit::Fill;

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

// Elements [begin, begin + count) of a tensor of `numel` as doubles, rounded to `dtype`: what
// read_elements() finds after fill_tensor(), unless elements share memory.
void fill_values(DType dtype, const FillKey& key, std::int64_t numel, std::int64_t begin,
                 std::int64_t count, double* values);

// What the value of an element depends on beside its index: `numel` elements, shared ones counted
// as often as they occur. Throws Error(kUnsupported) for the f8 types.
kit::FillRule fill_rule(const FillKey& key, std::int64_t numel);
kit::FillType fill_type(DType dtype);

// The first index of every dimension of stride 0: the elements that are distinct in memory.
TensorView distinct_elements(const TensorView& view);

}  // namespace kw::suite
