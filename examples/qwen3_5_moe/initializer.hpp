// SPDX-License-Identifier: Apache-2.0
// Deterministic weights: element i of tensor n is a pure function of (seed, n, i), in integer and
// exactly rounded float arithmetic, so that every compiler, thread count and machine gets the same
// model.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "qwen3_5_moe/tensor.hpp"

namespace qwen3_5_moe {

class Initializer {
 public:
  explicit Initializer(std::uint64_t seed) : seed_(seed) {}

  // Near-normal (the sum of four uniforms), mean 0.
  Tensor normal(std::initializer_list<std::int64_t> sizes, float stddev);
  // A projection [..., out, in] that keeps the variance of its input.
  Tensor projection(std::initializer_list<std::int64_t> sizes);
  Tensor uniform(std::initializer_list<std::int64_t> sizes, float low, float high);

 private:
  std::uint64_t seed_;
  std::uint64_t next_tensor_ = 0;
};

}  // namespace qwen3_5_moe
