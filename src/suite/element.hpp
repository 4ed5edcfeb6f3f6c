// SPDX-License-Identifier: Apache-2.0
// Elements of tensors of a run-time dtype as doubles, in row-major logical order whatever the
// strides.
#pragma once

#include <cstdint>
#include <vector>

#include "kernelwright/base/tensor.hpp"

namespace kw::suite {

// Whether the suite can read and write `dtype` (all but the f8 types).
bool has_elements(DType dtype) noexcept;

// One element at `address`. Integers beyond 2^53 do not occur in contracts. Storing rounds to
// nearest even; the f8 types throw Error(kUnsupported).
double load_element(DType dtype, const void* address);
void store_element(DType dtype, void* address, double value);
// `value` as `dtype` would keep it.
double round_to(DType dtype, double value);
void round_all(DType dtype, double* values, std::int64_t count);

// Facts of a floating type: significand bits with the hidden one, exponent of the smallest normal
// number, largest finite value.
struct FloatFormat {
  int digits = 0, min_exponent = 0;
  double max_finite = 0;
  double smallest() const noexcept;  // the smallest subnormal number
  // Distance between neighbours around `value`.
  double ulp(double value) const noexcept;
};
FloatFormat float_format(DType dtype);

// Walks the elements of a view in row-major order and yields element offsets, not bytes. Linear in
// the number of elements, without a division each.
class ElementWalk {
 public:
  // From logical index `first`.
  ElementWalk(const TensorView& view, std::int64_t first = 0);
  std::int64_t offset() const noexcept { return offset_; }
  void advance() noexcept {
    for (int d = rank_ - 1; d >= 0; --d) {
      offset_ += strides_[d];
      if (++index_[d] < sizes_[d]) return;
      offset_ -= strides_[d] * sizes_[d];
      index_[d] = 0;
    }
  }

 private:
  int rank_;
  std::int64_t offset_ = 0;
  std::int64_t sizes_[kMaxRank], strides_[kMaxRank], index_[kMaxRank];
};

// Stores `count` values at the elements that `walk` visits next.
void store_run(DType dtype, void* base, ElementWalk& walk, const double* values,
               std::int64_t count);

// All elements of `view`, in logical order. Parallel.
std::vector<double> read_elements(const TensorView& view);
void write_elements(const TensorView& view, const std::vector<double>& values);

}  // namespace kw::suite
