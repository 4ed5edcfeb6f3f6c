// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/tally.hpp"

namespace kw::suite {
namespace {

// Share of elements that may exceed their own bound if they stay within the tensor's arithmetic
// error: elements that cancelled almost to nothing, whose sensitivity one or two probes can miss.
constexpr double kCancelledShare = 1.0 / 64;

CheckResult failure(std::string_view output, Reason reason, std::string message) {
  return {fmt::format("oracle:{}", output), false, reason, std::move(message), {}};
}

}  // namespace

Comparison compare(std::string_view output, const TensorView& got, const Expectation& expected,
                   const Gates& gates) {
  Comparison result;
  OutputMetrics& m = result.metrics;
  m.output = output;
  m.elements = got.numel();
  if (static_cast<std::int64_t>(expected.exact.size()) != m.elements ||
      (gates.against_steps && expected.steps.size() != expected.exact.size())) {
    fail(Code::kInternal, "output '{}' has {} elements and its oracle {}", output, m.elements,
         expected.exact.size());
  }
  if (m.elements == 0) return result;
  Expectation used = expected;
  if (!gates.against_steps) used.steps = {};
  const Tally t = tally(got, used, gates);

  const double n = static_cast<double>(std::max<std::int64_t>(t.finite, 1));
  const double norm = std::sqrt(t.exact2);
  const double rms_sensitivity = std::sqrt(t.sensitivity2 / n);
  const std::int64_t width = std::max<std::int64_t>(expected.row_width, 1);
  double samples = 1;
  if (!expected.repeating) {
    const bool averages = expected.independent && width >= 32;
    samples = averages ? n : static_cast<double>(std::min<std::int64_t>(width, m.elements));
  }
  m.tensor_nrmse = norm > 0 ? std::sqrt(t.error2) / norm : std::sqrt(t.error2);
  m.unrounded_nrmse = norm > 0 ? std::sqrt(t.unrounded2) / norm : std::sqrt(t.unrounded2);
  const double share = std::min(samples / n, 1.0);  // of elements whose errors are new ones
  // Of a tensor that is zero, the error itself is bounded, and only by what cancelled.
  const double relative =
      gates.tensor_c * gates.floor * chance(samples, share * t.exact2, share * t.exact4);
  m.tensor_limit = norm > 0 ? relative + std::sqrt(t.slack2) / norm : std::sqrt(t.slack2);
  m.max_row_nrmse = t.worst_row_nrmse;
  m.row_limit = t.worst_row_limit;
  m.worst_row_ratio = t.worst_row_ratio;
  m.worst_row = t.worst_row;
  m.max_abs = t.max_abs;
  m.max_rel = t.max_rel;
  m.max_ulps = t.max_ulps;
  m.exact_share = 1 - static_cast<double>(t.inexact) / n;
  m.nonfinite_expected = t.nonfinite_expected;
  m.nonfinite_got = t.nonfinite_got;
  m.ulp_histogram = t.histogram;
  for (const Violation& v : t.violations) m.worst.push_back({v.index, v.expected, v.got, v.ulps});
  // hypot would ask for GLIBC_2.35 (tools/check_symbol_floor.py); slack2 is a square as it is.
  const double floor = gates.floor * norm;
  const double noise = std::sqrt(floor * floor + t.slack2);
  m.bias_z = noise > 0 ? t.signed_error / noise : 0;

  if (t.class_errors > 0) {
    result.failures.push_back(
        failure(output, Reason::kNonfiniteMismatch,
                fmt::format("{} of {} elements are finite where the oracle is not, or the reverse; "
                            "the first at index {} ({} non-finite found, {} expected)",
                            t.class_errors, m.elements, t.first_class_error, t.nonfinite_got,
                            t.nonfinite_expected)));
  }
  if (gates.bitwise_value) {
    if (t.over_bound > 0) {
      result.failures.push_back(failure(output, Reason::kNumericMismatch,
                                        fmt::format("{} of {} elements are not the exact value; "
                                                    "the first found at index {}: {} instead of {}",
                                                    t.over_bound, m.elements, m.worst[0].index,
                                                    m.worst[0].got, m.worst[0].expected)));
    }
    return result;
  }
  if (t.worst_row_ratio > 1) {
    result.failures.push_back(failure(output, Reason::kNumericMismatch,
                                      fmt::format("row {}: normalised error {:.3g} exceeds {:.3g}",
                                                  m.worst_row, m.max_row_nrmse, m.row_limit)));
  }
  if (m.tensor_nrmse > m.tensor_limit) {
    result.failures.push_back(failure(
        output, Reason::kNumericMismatch,
        fmt::format("whole tensor: normalised error {:.3g} ({:.2f} rounding floors) exceeds {:.3g}",
                    m.tensor_nrmse, m.tensor_nrmse / gates.floor, m.tensor_limit)));
  }
  if (t.over_bound > 0) {
    // Sums cancel: their error relates to the size of the terms. Where the variant rounds a term, a
    // last bit of the arithmetic may flip that rounding.
    const double tensor_error =
        gates.against_steps ? gates.ulps * float_format(got.dtype).ulp(t.max_exact)
                            : 16 * std::max(gates.arithmetic * t.max_exact, rms_sensitivity);
    const bool cancelled = static_cast<double>(t.over_bound) <= kCancelledShare * n + 1 &&
                           std::all_of(t.violations.begin(), t.violations.end(),
                                       [&](const Violation& v) { return v.off <= tensor_error; });
    if (!cancelled) {
      result.failures.push_back(
          failure(output, Reason::kNumericMismatch,
                  fmt::format("{} elements are more than {:.3g} ulp off; the worst at index {}: "
                              "{:.9g} instead of {:.9g} ({:.3g} ulp)",
                              t.over_bound, gates.ulps, m.worst[0].index, m.worst[0].got,
                              m.worst[0].expected, m.worst[0].ulps)));
    }
  }
  // A rounded factor that a row shares may flip with the last bit of the arithmetic, and the row
  // with it.
  const double by_chance = gates.against_steps ? static_cast<double>(width) : 1;
  if (gates.min_exact > 0 &&
      static_cast<double>(t.inexact) > (1 - gates.min_exact) * n + by_chance) {
    result.failures.push_back(failure(
        output, Reason::kNumericMismatch,
        fmt::format(
            "only {:.4f} of the elements {}; at least {:.2f} is needed", m.exact_share,
            gates.against_steps ? "equal the stepwise rounded oracle" : "are correctly rounded",
            gates.min_exact)));
  }
  // A row is its inputs times few factors, so errors repeat with the mantissas of the inputs.
  const std::int64_t rows = m.elements / width;
  const double distinct = std::min(n, static_cast<double>(rows) * expected.mantissas);
  const double max_z =
      (kMaxBiasDeviations / std::sqrt(std::max(distinct, 1.0)) + kMaxBias) * std::sqrt(n);
  if (gates.bias && n >= 1024 && std::fabs(m.bias_z) > max_z) {
    result.failures.push_back(
        failure(output, Reason::kBias,
                fmt::format("errors lean {} zero: z = {:.1f}; up to {:.1f} is chance",
                            m.bias_z < 0 ? "towards" : "away from", m.bias_z, max_z)));
  }
  return result;
}

double trust_of(std::span<const double> fake, std::span<const double> exact, const Gates& gates) {
  double error2 = 0, exact2 = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (!std::isfinite(exact[i]) || !std::isfinite(fake[i])) continue;
    error2 += (fake[i] - exact[i]) * (fake[i] - exact[i]);
    exact2 += exact[i] * exact[i];
  }
  if (exact2 == 0) return 0;
  // Steps are judged by agreement, which is tighter than their error bound: one rounding.
  const double c = gates.against_steps ? 1.25 : gates.tensor_c;
  return std::sqrt(error2 / exact2) / (c * gates.floor);
}

std::vector<CheckResult> compare_bytes(std::string_view output, std::span<const std::byte> got,
                                       std::span<const std::byte> expected,
                                       std::size_t element_bytes) {
  if (got.size() != expected.size())
    fail(Code::kInternal, "output '{}' has {} bytes and its oracle {}", output, got.size(),
         expected.size());
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < got.size(); i += element_bytes) {
    if (std::equal(got.begin() + static_cast<std::ptrdiff_t>(i),
                   got.begin() + static_cast<std::ptrdiff_t>(i + element_bytes),
                   expected.begin() + static_cast<std::ptrdiff_t>(i)))
      continue;
    if (wrong++ == 0) first = i / element_bytes;
  }
  if (wrong == 0) return {};
  return {failure(output, Reason::kNumericMismatch,
                  fmt::format("{} of {} elements differ in their bits; the first at index {}",
                              wrong, got.size() / element_bytes, first))};
}

}  // namespace kw::suite
