// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/suite/element.hpp"

namespace kw::suite {
namespace {

constexpr std::size_t kWorst = 10;
// Share of elements that may exceed their own bound if they stay within the tensor's arithmetic error:
// elements that cancelled almost to nothing, whose sensitivity one or two probes can miss.
constexpr double kCancelledShare = 1.0 / 64;

struct Violation {
  std::int64_t index;
  double expected, got, ulps, excess;
};

// Sums over some rows. Merged in row order, so that results do not depend on threads.
struct Tally {
  double error2 = 0, exact2 = 0, slack2 = 0, signed_error = 0, sensitivity2 = 0, max_exact = 0;
  double max_abs = 0, max_rel = 0, max_ulps = 0;
  std::int64_t finite = 0, inexact = 0, over_bound = 0, class_errors = 0, nonfinite_expected = 0, nonfinite_got = 0;
  std::int64_t first_class_error = -1;
  std::array<std::int64_t, 8> histogram{};
  double worst_row_ratio = -1, worst_row_nrmse = 0, worst_row_limit = 0;
  std::int64_t worst_row = -1;
  std::vector<Violation> violations;  // a bounded sample, worst kept

  void keep(const Violation& violation) {
    violations.push_back(violation);
    if (violations.size() >= 4 * kWorst) shrink();
  }
  void shrink() {
    std::stable_sort(violations.begin(), violations.end(), [](const auto& a, const auto& b) { return a.excess > b.excess; });
    if (violations.size() > kWorst) violations.resize(kWorst);
  }
  void merge(const Tally& other) {
    error2 += other.error2; exact2 += other.exact2; slack2 += other.slack2;
    signed_error += other.signed_error; sensitivity2 += other.sensitivity2;
    max_exact = std::max(max_exact, other.max_exact);
    max_abs = std::max(max_abs, other.max_abs);
    max_rel = std::max(max_rel, other.max_rel);
    max_ulps = std::max(max_ulps, other.max_ulps);
    finite += other.finite; inexact += other.inexact; over_bound += other.over_bound;
    class_errors += other.class_errors;
    nonfinite_expected += other.nonfinite_expected; nonfinite_got += other.nonfinite_got;
    if (first_class_error < 0) first_class_error = other.first_class_error;
    for (std::size_t i = 0; i < histogram.size(); ++i) histogram[i] += other.histogram[i];
    if (other.worst_row_ratio > worst_row_ratio) {
      worst_row_ratio = other.worst_row_ratio; worst_row = other.worst_row;
      worst_row_nrmse = other.worst_row_nrmse; worst_row_limit = other.worst_row_limit;
    }
    for (const Violation& violation : other.violations) keep(violation);
    shrink();
  }
};

std::size_t ulp_bin(double ulps) {
  if (ulps < 0.5) return 0;
  if (ulps < 1.5) return 1;
  if (ulps < 2.5) return 2;
  if (ulps <= 4) return 3;
  if (ulps <= 8) return 4;
  if (ulps <= 16) return 5;
  return 6;
}

class Comparer {
 public:
  Comparer(const TensorView& got, const Expectation& expected, const Gates& gates)
      : got_(got), expected_(expected), gates_(gates), format_(float_format(is_float(got.dtype) ? got.dtype : DType::kF64)) {}

  Tally run() {
    const std::int64_t width = std::max<std::int64_t>(expected_.row_width, 1);
    const std::int64_t rows = got_.numel() / width;
    const std::int64_t rows_per_chunk = std::max<std::int64_t>(1, (1 << 14) / width);
    const std::int64_t chunks = (rows + rows_per_chunk - 1) / rows_per_chunk;
    std::vector<Tally> parts(static_cast<std::size_t>(chunks));
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (std::int64_t c = 0; c < chunks; ++c) {
      Tally& tally = parts[static_cast<std::size_t>(c)];
      const std::int64_t end = std::min(rows, (c + 1) * rows_per_chunk);
      ElementWalk walk(got_, c * rows_per_chunk * width);
      for (std::int64_t r = c * rows_per_chunk; r < end; ++r) row(r, width, walk, tally);
    }
    Tally total;
    for (const Tally& part : parts) total.merge(part);
    return total;
  }

 private:
  void row(std::int64_t index, std::int64_t width, ElementWalk& walk, Tally& total) const {
    Tally row;
    const auto* base = static_cast<const std::byte*>(got_.data);
    const auto bytes = static_cast<std::int64_t>(dtype_bytes(got_.dtype));
    for (std::int64_t c = 0; c < width; ++c, walk.advance()) {
      element(index * width + c, load_element(got_.dtype, base + walk.offset() * bytes), row);
    }
    const double factor = 1 + 5 / std::sqrt(static_cast<double>(width));
    const double limit = gates_.row_c * gates_.floor * factor * std::sqrt(row.exact2) + std::sqrt(row.slack2);
    const double error = std::sqrt(row.error2);
    row.worst_row = index;
    row.worst_row_ratio = error == 0 ? 0 : error / limit;  // infinite for an error in an exact row
    const double norm = std::sqrt(row.exact2);
    row.worst_row_nrmse = norm > 0 ? error / norm : error;
    row.worst_row_limit = norm > 0 ? limit / norm : limit;
    total.merge(row);
  }

  void element(std::int64_t index, double y, Tally& t) const {
    const auto at = static_cast<std::size_t>(index);
    const double o = expected_.exact[at];
    const double rounded = !expected_.steps.empty() ? expected_.steps[at] : round_to(got_.dtype, o);
    const bool finite = std::isfinite(rounded);
    t.nonfinite_expected += finite ? 0 : 1;
    t.nonfinite_got += std::isfinite(y) ? 0 : 1;
    if (!same_class(y, rounded)) {
      if (at_overflow_edge(o)) return;
      ++t.class_errors;
      if (t.first_class_error < 0) t.first_class_error = index;
      return;
    }
    if (!finite || !std::isfinite(o)) return;
    ++t.finite;

    const double magnitude = std::fabs(o), difference = std::fabs(y - o);
    const double unit = format_.ulp(o);
    double slack = 0;
    if (!expected_.sensitivity.empty()) {
      const double sensitivity = expected_.sensitivity[at];
      t.sensitivity2 += sensitivity * sensitivity;
      slack = gates_.slack_gain * std::max(0.0, sensitivity - 4 * gates_.arithmetic * magnitude);
    }
    // Below the normal numbers the storage cannot do better than its fixed spacing.
    const bool subnormal = unit <= format_.smallest();
    const double unavoidable = subnormal ? (gates_.ulps >= 2 ? 1.0 : 0.5) * format_.smallest() : 0;
    const double error = o == 0 && slack == 0 ? difference : std::max(0.0, difference - unavoidable);
    t.error2 += error * error;
    t.exact2 += o * o;
    t.slack2 += slack * slack;
    t.signed_error += o < 0 ? o - y : y - o;
    t.max_exact = std::max(t.max_exact, magnitude);
    t.max_abs = std::max(t.max_abs, difference);
    if (o != 0) t.max_rel = std::max(t.max_rel, difference / magnitude);

    const double ulps = std::fabs(y - rounded) / unit;
    t.max_ulps = std::max(t.max_ulps, ulps);
    ++t.histogram[y * rounded < 0 ? 7 : ulp_bin(ulps)];
    if (!correctly_rounded(y, o, rounded, slack)) ++t.inexact;
    const double bound = o == 0 && slack == 0 ? 0 : (gates_.ulps + 0.5) * unit + slack;
    if (difference > bound || (gates_.bitwise_value && y != rounded)) {
      ++t.over_bound;
      t.keep({index, rounded, y, ulps, difference - bound});
    }
  }

  bool correctly_rounded(double y, double o, double rounded, double slack) const {
    if (y == rounded) return true;
    if (gates_.min_exact == 0 || slack == 0) return false;
    if (gates_.against_steps) return std::fabs(y - rounded) <= slack;
    return y >= round_to(got_.dtype, o - slack) && y <= round_to(got_.dtype, o + slack);
  }

  static bool same_class(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (std::isinf(a) || std::isinf(b)) return a == b;
    return true;
  }

  // Where the last bit of the arithmetic decides between the largest finite number and infinity.
  bool at_overflow_edge(double o) const {
    if (!std::isfinite(o) || !is_float(got_.dtype)) return false;
    const double edge = format_.max_finite, unit = format_.ulp(edge);
    return std::fabs(std::fabs(o) - edge) <= (gates_.ulps + 1) * unit;
  }

  const TensorView& got_;
  const Expectation& expected_;
  const Gates& gates_;
  FloatFormat format_;
};

CheckResult failure(std::string_view output, Reason reason, std::string message) {
  return {fmt::format("oracle:{}", output), false, reason, std::move(message), {}};
}

}  // namespace

Comparison compare(std::string_view output, const TensorView& got, const Expectation& expected, const Gates& gates) {
  Comparison result;
  OutputMetrics& m = result.metrics;
  m.output = output;
  m.elements = got.numel();
  if (static_cast<std::int64_t>(expected.exact.size()) != m.elements || (gates.against_steps && expected.steps.size() != expected.exact.size())) {
    fail(Code::kInternal, "output '{}' has {} elements and its oracle {}", output, m.elements, expected.exact.size());
  }
  if (m.elements == 0) return result;
  Expectation used = expected;
  if (!gates.against_steps) used.steps = {};
  const Tally t = Comparer(got, used, gates).run();

  const double n = static_cast<double>(std::max<std::int64_t>(t.finite, 1));
  const double norm = std::sqrt(t.exact2);
  const double rms_sensitivity = std::sqrt(t.sensitivity2 / n);
  const std::int64_t width = std::max<std::int64_t>(expected.row_width, 1);
  double samples = n;
  if (gates.rowwise_errors) samples = std::max(1.0, n / static_cast<double>(width));
  else if (!expected.independent || width < 32) samples = static_cast<double>(std::min<std::int64_t>(width, m.elements));
  m.tensor_nrmse = norm > 0 ? std::sqrt(t.error2) / norm : std::sqrt(t.error2);
  m.tensor_limit = gates.tensor_c * gates.floor * (1 + 5 / std::sqrt(samples)) + (norm > 0 ? std::sqrt(t.slack2) / norm : 0);
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
  const double noise = std::hypot(gates.floor * norm, std::sqrt(t.slack2));
  m.bias_z = noise > 0 ? t.signed_error / noise : 0;

  if (t.class_errors > 0) {
    result.failures.push_back(failure(output, Reason::kNonfiniteMismatch,
        fmt::format("{} of {} elements are finite where the oracle is not, or the reverse; the first at index {} ({} non-finite found, {} expected)",
                    t.class_errors, m.elements, t.first_class_error, t.nonfinite_got, t.nonfinite_expected)));
  }
  if (gates.bitwise_value) {
    if (t.over_bound > 0) {
      result.failures.push_back(failure(output, Reason::kNumericMismatch,
          fmt::format("{} of {} elements are not the exact value; the first found at index {}: {} instead of {}", t.over_bound,
                      m.elements, m.worst[0].index, m.worst[0].got, m.worst[0].expected)));
    }
    return result;
  }
  if (t.worst_row_ratio > 1) {
    result.failures.push_back(failure(output, Reason::kNumericMismatch,
        fmt::format("row {}: normalised error {:.3g} exceeds {:.3g}", m.worst_row, m.max_row_nrmse, m.row_limit)));
  }
  if (m.tensor_nrmse > m.tensor_limit) {
    result.failures.push_back(failure(output, Reason::kNumericMismatch,
        fmt::format("whole tensor: normalised error {:.3g} ({:.2f} rounding floors) exceeds {:.3g}", m.tensor_nrmse,
                    m.tensor_nrmse / gates.floor, m.tensor_limit)));
  }
  if (t.over_bound > 0) {
    // Sums of random terms cancel: their error relates to the size of the terms.
    const double tensor_error = 16 * std::max(gates.arithmetic * t.max_exact, rms_sensitivity);
    const bool cancelled = static_cast<double>(t.over_bound) <= kCancelledShare * n + 1 &&
                           std::all_of(m.worst.begin(), m.worst.end(), [&](const WorstElement& w) {
                             return std::fabs(w.got - expected.exact[static_cast<std::size_t>(w.index)]) <= tensor_error;
                           });
    if (!cancelled) {
      result.failures.push_back(failure(output, Reason::kNumericMismatch,
          fmt::format("{} elements are more than {:.3g} ulp off; the worst at index {}: {:.9g} instead of {:.9g} ({:.3g} ulp)", t.over_bound,
                      gates.ulps, m.worst[0].index, m.worst[0].got, m.worst[0].expected, m.worst[0].ulps)));
    }
  }
  if (gates.min_exact > 0 && static_cast<double>(t.inexact) > (1 - gates.min_exact) * n + 1) {
    result.failures.push_back(failure(output, Reason::kNumericMismatch,
        fmt::format("only {:.4f} of the elements {}; at least {:.2f} is needed", m.exact_share,
                    gates.against_steps ? "equal the stepwise rounded oracle" : "are correctly rounded", gates.min_exact)));
  }
  if (gates.bias && n >= 1024 && std::fabs(m.bias_z) > kMaxBias) {
    result.failures.push_back(failure(output, Reason::kBias,
        fmt::format("errors lean {} zero: z = {:.1f}, at most {:.0f} is chance", m.bias_z < 0 ? "towards" : "away from", m.bias_z, kMaxBias)));
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
  return std::sqrt(error2 / exact2) / (gates.tensor_c * gates.floor);
}

std::vector<CheckResult> compare_bytes(std::string_view output, std::span<const std::byte> got,
                                       std::span<const std::byte> expected, std::size_t element_bytes) {
  if (got.size() != expected.size()) fail(Code::kInternal, "output '{}' has {} bytes and its oracle {}", output, got.size(), expected.size());
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < got.size(); i += element_bytes) {
    if (std::equal(got.begin() + static_cast<std::ptrdiff_t>(i), got.begin() + static_cast<std::ptrdiff_t>(i + element_bytes),
                   expected.begin() + static_cast<std::ptrdiff_t>(i))) continue;
    if (wrong++ == 0) first = i / element_bytes;
  }
  if (wrong == 0) return {};
  return {failure(output, Reason::kNumericMismatch,
                  fmt::format("{} of {} elements differ in their bits; the first at index {}", wrong, got.size() / element_bytes, first))};
}

}  // namespace kw::suite
