// SPDX-License-Identifier: Apache-2.0
// Whether the reference of a backward operation is the derivative of its forward's reference:
// directional finite differences in f64. Oracles are judged here, implementations elsewhere.
#pragma once

#include <string>
#include <vector>

#include "kernelwright/core/catalog.hpp"

namespace kw::suite {

struct GradientCheck {
  std::string input, gradient;
  double difference = 0, derivative = 0;  // along one random direction
  double bend = 0;                        // what the difference changes with half the step

  bool passed() const noexcept;
};

// For every gradient of `backward` that is an output of its problem: L = sum over outputs of dy * y
// is differentiated along a random direction of the input. The problem is small and in any dtypes;
// names pair as x and dx, y and dy. Empty when no gradient is wanted; throws
// Error(kInvalidArgument) for an operation that is no backward.
std::vector<GradientCheck> check_gradients(const Problem& backward, const Catalog& catalog,
                                           std::uint64_t seed);

}  // namespace kw::suite
