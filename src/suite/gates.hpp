// SPDX-License-Identifier: Apache-2.0
// Thresholds. They follow from (tolerance class, dtype, width) alone, so that nobody can pick one
// for an operation. The unit is the rounding floor: the error of one correct rounding.
#pragma once

#include <cstdint>

#include "kernelwright/core/contract.hpp"

namespace kw::suite {

// Normalised RMS error of rounding Gaussian data correctly to `dtype` (measured, 2e6 samples).
double rounding_floor(DType dtype);

// What an output is, as far as thresholds care.
struct OutputTraits {
  ToleranceClass tolerance = ToleranceClass::kOneRounding;
  DType dtype = DType::kF32;
  std::int64_t width = 1;        // elements of a row
  std::int64_t summed_rows = 1;  // > 1: an output without the batch dimensions, summed over rows
  bool gradient = false;         // of an operation that is some forward's backward
  bool random = true;            // inputs are random and all distinct: errors are independent
  bool exact_inputs = false;     // the exact_int fill
};

struct Gates {
  bool bitwise = false;  // movement: against the stepwise oracle, NaN payloads and -0 included
  bool bitwise_value = false;  // integers, and linear operations on exact integers: equal values
  double floor = 0;            // F
  double row_c = 0;            // per row: row_c * F * (1 + 5 / sqrt(elements that matter))
  double tensor_c = 0;         // the same over the whole tensor
  double ulps = 0;             // per element, beyond the half of the final rounding
  double arithmetic = 0;       // unit roundoff of the arithmetic: 2^-24, 2^-53 for f64
  double slack_gain = 16;      // how many measured input sensitivities an element may be off
  double row_slack = 0;        // what an element may be off, as a share of its row's largest
  double min_exact = 0;        // least share of correctly rounded elements; 0: no gate
  bool against_steps = false;  // all of these compare with the stepwise oracle
  bool bias = false;           // the mean error must be that of chance
};

// Chance, in standard deviations of the mean; and what rounding itself leans by at the borders of
// binades, in rounding floors. Truncation leans by 0.87 of these, a factor of 0.999 by 0.48.
inline constexpr double kMaxBiasDeviations = 6;
inline constexpr double kMaxBias = 0.06;
inline constexpr double kMinTrust = 100;
// Of versus_eager: 16-bit storage, normal inputs.
inline constexpr double kMaxVersusEager = 1.10;

Gates gates_for(const OutputTraits& traits);

}  // namespace kw::suite
