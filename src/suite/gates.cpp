// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/gates.hpp"

#include <algorithm>
#include <cmath>

#include "kernelwright/base/fail.hpp"

namespace kw::suite {
namespace {

struct Row {
  double c, c_gradient, ulps;
};

// For outputs whose last rounding dominates (bf16, f16). The first two rows and kLinear rest on
// measurements (row norms, dot products); the others are estimates that await calibration.
Row low_precision(ToleranceClass tolerance) {
  switch (tolerance) {
    case ToleranceClass::kOneRounding:
      return {1.25, 1.5, 1};
    case ToleranceClass::kTwoRoundings:
      return {5, 5, 2};
    case ToleranceClass::kLinear:
      return {1.25, 1.5, 1};
    case ToleranceClass::kFusedGemm:
      return {1.8, 2.5, 3};
    case ToleranceClass::kAttention:
      return {1.75, 3.0, 1};
    case ToleranceClass::kRecurrence:
      return {3.0, 5.0, 8};
    case ToleranceClass::kLoss:
      return {1.25, 1.5, 1};
    case ToleranceClass::kQuantised:
      return {1.5, 1.5, 2};
    case ToleranceClass::kMovement:
    case ToleranceClass::kTopK:
      return {0, 0, 0};
  }
  return {0, 0, 0};
}

// For f32 and f64 outputs no final rounding dominates: c is that of the summation. Row reductions
// use lanes (chains of width/64 and a tree): 4 + sqrt(width)/16 covers 2^18 columns. Sums over rows
// and products may run sequentially: 0.7 sqrt(K) floors measured.
double full_precision_c(const OutputTraits& traits) {
  const double width = std::sqrt(static_cast<double>(std::max(traits.width, traits.summed_rows)));
  if (traits.summed_rows > 1) return 4 + std::sqrt(static_cast<double>(traits.summed_rows));
  switch (traits.tolerance) {
    case ToleranceClass::kOneRounding:
    case ToleranceClass::kTwoRoundings:
      return 4 + width / 16;
    case ToleranceClass::kAttention:
      return 1.25 + 2 * width;
    case ToleranceClass::kRecurrence:
      return 64 + 2 * width;
    case ToleranceClass::kLoss:
      return 160;  // 4e-6 relative
    default:
      return 4 + width;
  }
}

}  // namespace

double rounding_floor(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 2.54e-8 * 0x1p-29;
    case DType::kF32:
      return 2.54e-8;
    case DType::kF16:
      return 2.08e-4;
    case DType::kBF16:
      return 1.66e-3;
    default:
      fail(Code::kUnsupported, "no rounding floor is known for {} outputs", dtype_name(dtype));
  }
}

Gates gates_for(const OutputTraits& traits) {
  Gates gates;
  if (traits.tolerance == ToleranceClass::kMovement) {
    gates.bitwise = true;
    return gates;
  }
  if (!is_float(traits.dtype) || traits.tolerance == ToleranceClass::kTopK ||
      (traits.tolerance == ToleranceClass::kLinear && traits.exact_inputs)) {
    gates.bitwise_value = true;
    if (!is_float(traits.dtype)) return gates;
  }
  gates.floor = rounding_floor(traits.dtype);
  gates.arithmetic = traits.dtype == DType::kF64 ? 0x1p-53 : 0x1p-24;
  // A gradient through a row's reduction is a difference of terms of the row's size.
  gates.row_slack = traits.gradient ? 8 * gates.arithmetic : 0;
  gates.slack_gain = 16 + std::sqrt(static_cast<double>(traits.summed_rows));

  const bool low = traits.dtype == DType::kF16 || traits.dtype == DType::kBF16;
  if (!low) {
    gates.row_c = full_precision_c(traits);
    gates.tensor_c = gates.row_c;
    gates.ulps = traits.summed_rows > 1 ? 2 * gates.row_c : gates.row_c;
    return gates;
  }
  const Row row = low_precision(traits.tolerance);
  gates.row_c = traits.gradient
                    ? (traits.summed_rows > 1 ? std::max(row.c_gradient, 2.0) : row.c_gradient)
                    : row.c;
  gates.tensor_c = gates.row_c - 0.17;  // c0 + 0.08, where the row gate has c0 + 0.25
  gates.ulps = row.ulps;
  if (traits.tolerance == ToleranceClass::kOneRounding) {
    gates.min_exact = 0.97;
    gates.bias = traits.random && traits.width >= 32;
  } else if (traits.tolerance == ToleranceClass::kTwoRoundings) {
    // Agreement with the stepwise oracle decides, from both sides: one rounding too few disagrees
    // as well. Error bounds only catch what a flipped factor of a row (up to 4.7 F) cannot explain.
    // Where few distinct values repeat, one tie of the inner rounding decides for a share of all.
    gates.min_exact = traits.random ? 0.97 : 0;
    gates.against_steps = true;
    gates.tensor_c = gates.row_c;
  }
  return gates;
}

}  // namespace kw::suite
