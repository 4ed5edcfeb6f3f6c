// SPDX-License-Identifier: Apache-2.0
// One pass over an output and its oracle: the sums from which compare() takes its verdict.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernelwright/suite/compare.hpp"

namespace kw::suite {

// An element outside its own bound. `off`: distance from the oracle that the gates use.
struct Violation {
  std::int64_t index;
  double expected, got, ulps, off, excess;
};

// Sums over some rows, of elements that are finite as expected.
struct Tally {
  static constexpr std::size_t kWorst = 10;

  // Squares: of the gated error, of exact values, of slack; fourth powers; the error from exact
  // values.
  double error2 = 0, exact2 = 0, slack2 = 0, exact4 = 0, unrounded2 = 0;
  double sensitivity2 = 0, signed_error = 0;  // signed: away from zero is positive
  double max_exact = 0, max_abs = 0, max_rel = 0, max_ulps = 0;
  std::int64_t finite = 0, inexact = 0, over_bound = 0;
  std::int64_t class_errors = 0, first_class_error = -1;
  std::int64_t nonfinite_expected = 0, nonfinite_got = 0;
  std::array<std::int64_t, 8> histogram{};
  double worst_row_ratio = -1, worst_row_nrmse = 0, worst_row_limit = 0;
  std::int64_t worst_row = -1;
  std::vector<Violation> violations;  // the kWorst largest, and up to three times as many others

  void keep(const Violation& violation);
  void merge(const Tally& other);
};

// How much an error of correct rounding may exceed the floor by chance when it is the mean over
// `count` elements. Few large elements count for the many small ones beside them: their number is
// what the fourth moment says, and all of them for Gaussian data.
double chance(double count, double exact2, double exact4);

// Parallel; rows merge in order, so that the result does not depend on threads.
Tally tally(const TensorView& got, const Expectation& expected, const Gates& gates);

}  // namespace kw::suite
