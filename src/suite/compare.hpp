// SPDX-License-Identifier: Apache-2.0
// One output against its oracle: class map, row-wise and whole-tensor error, ulps, share of
// correctly rounded elements, bias, and how far a wrong output would have been from passing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernelwright/base/tensor.hpp"
#include "kernelwright/suite/gates.hpp"
#include "kernelwright/suite/result.hpp"

namespace kw::suite {

struct Expectation {
  // Unrounded mathematics, in logical order.
  std::span<const double> exact;
  // The variant's own roundings applied; empty unless the gates ask for it.
  std::span<const double> steps;
  // Change of `exact` when inputs move by one unit roundoff of the arithmetic; empty: not measured.
  std::span<const double> sensitivity;
  std::int64_t row_width = 1;
  bool independent = true;    // errors average out over the tensor ...
  bool repeating = false;     // ... or not even over a row
  double mantissas = 0x1p23;  // different ones that the narrowest input has
};

struct WorstElement {
  std::int64_t index = 0;
  double expected = 0, got = 0, ulps = 0;
};

struct OutputMetrics {
  std::string output;
  // Errors and limits are relative to the oracle that the gates use: the stepwise one for two
  // roundings.
  double tensor_nrmse = 0, tensor_limit = 0;
  double unrounded_nrmse = 0;  // whole tensor against exact mathematics, whatever the gates use
  double max_row_nrmse = 0, row_limit = 0;  // row_limit: of the worst row
  double worst_row_ratio = 0;               // error over its limit, largest over rows
  std::int64_t worst_row = -1;
  double max_abs = 0, max_rel = 0, max_ulps = 0;
  double exact_share = 1;
  double bias_z = 0;
  std::int64_t elements = 0, nonfinite_expected = 0, nonfinite_got = 0;
  // |y - round(o)| in ulps: 0, 1, 2, 3-4, 5-8, 9-16, more, wrong sign.
  std::array<std::int64_t, 8> ulp_histogram{};
  std::vector<WorstElement> worst;  // up to 10, largest excess over the element bound first
  double trust = 0;                 // 0: not measured
  // unrounded_nrmse in units of that of the reference at the problem's own dtypes: what eager code
  // of the same precision loses. 0: not measured.
  double versus_eager = 0;
};

struct Comparison {
  OutputMetrics metrics;
  std::vector<CheckResult> failures;  // in order of severity; empty: the output passes
};

// `got` is host memory of any strides. Throws Error(kInternal) when sizes disagree.
Comparison compare(std::string_view output, const TensorView& got, const Expectation& expected,
                   const Gates& gates);

// Error of `fake` relative to the whole-tensor threshold without allowances: what trust is made of.
double trust_of(std::span<const double> fake, std::span<const double> exact, const Gates& gates);

// Movement: the bytes must be equal.
std::vector<CheckResult> compare_bytes(std::string_view output, std::span<const std::byte> got,
                                       std::span<const std::byte> expected,
                                       std::size_t element_bytes);

}  // namespace kw::suite
