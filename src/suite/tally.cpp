// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/tally.hpp"

#include <algorithm>
#include <cmath>

#include "kernelwright/suite/element.hpp"

namespace kw::suite {
namespace {

void shrink(std::vector<Violation>& violations) {
  if (violations.size() <= Tally::kWorst) return;
  std::stable_sort(violations.begin(), violations.end(),
                   [](const auto& a, const auto& b) { return a.excess > b.excess; });
  violations.resize(Tally::kWorst);
}

std::size_t ulp_bin(double ulps) {
  if (ulps < 0.5) return 0;
  if (ulps < 1.5) return 1;
  if (ulps < 2.5) return 2;
  if (ulps <= 4) return 3;
  if (ulps <= 8) return 4;
  if (ulps <= 16) return 5;
  return 6;
}

// Unit roundoffs by which a well-conditioned result follows its inputs; more is cancellation.
constexpr double kNatural = 4;

// Fewer elements are not worth a team of threads.
constexpr std::int64_t kParallel = 1 << 18;

class Comparer {
 public:
  Comparer(const TensorView& got, const Expectation& expected, const Gates& gates)
      : got_(got),
        expected_(expected),
        gates_(gates),
        format_(float_format(is_float(got.dtype) ? got.dtype : DType::kF64)) {}

  Tally run() {
    const std::int64_t width = std::max<std::int64_t>(expected_.row_width, 1);
    const std::int64_t rows = got_.numel() / width;
    const std::int64_t rows_per_chunk = std::max<std::int64_t>(1, (1 << 14) / width);
    const std::int64_t chunks = (rows + rows_per_chunk - 1) / rows_per_chunk;
    std::vector<Tally> parts(static_cast<std::size_t>(chunks));
#pragma omp parallel for schedule(static) if (got_.numel() > kParallel)
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
    double row_slack = 0;
    if (gates_.row_slack > 0) {
      for (const double o : expected_.exact.subspan(static_cast<std::size_t>(index * width),
                                                    static_cast<std::size_t>(width))) {
        if (std::isfinite(o)) row_slack = std::max(row_slack, gates_.row_slack * std::fabs(o));
      }
    }
    for (std::int64_t c = 0; c < width; ++c, walk.advance()) {
      element(index * width + c, load_element(got_.dtype, base + walk.offset() * bytes), row_slack,
              row);
    }
    const double samples = expected_.repeating ? 1 : static_cast<double>(width);
    const double factor = chance(samples, row.exact2, row.exact4);
    const double limit =
        gates_.row_c * gates_.floor * factor * std::sqrt(row.exact2) + std::sqrt(row.slack2);
    const double error = std::sqrt(row.error2);
    row.worst_row = index;
    row.worst_row_ratio = error == 0 ? 0 : error / limit;  // infinite for an error in an exact row
    const double norm = std::sqrt(row.exact2);
    row.worst_row_nrmse = norm > 0 ? error / norm : error;
    row.worst_row_limit = norm > 0 ? limit / norm : limit;
    total.merge(row);
  }

  void element(std::int64_t index, double y, double row_slack, Tally& t) const {
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
      slack =
          gates_.slack_gain * std::max(0.0, sensitivity - kNatural * gates_.arithmetic * magnitude);
    }
    // Below the normal numbers the storage cannot do better than its fixed spacing.
    const bool subnormal = unit <= format_.smallest();
    const double unavoidable = subnormal ? (gates_.ulps >= 2 ? 1.0 : 0.5) * format_.smallest() : 0;
    const double off = gates_.against_steps ? std::fabs(y - rounded) : difference;
    const double error = o == 0 && slack == 0 ? off : std::max(0.0, off - unavoidable);
    t.error2 += error * error;
    t.unrounded2 += difference * difference;
    t.exact2 += o * o;
    t.exact4 += o * o * o * o;
    t.slack2 += slack * slack;
    t.signed_error += o < 0 ? o - y : y - o;
    t.max_exact = std::max(t.max_exact, magnitude);
    t.max_abs = std::max(t.max_abs, difference);
    if (o != 0) t.max_rel = std::max(t.max_rel, difference / magnitude);

    const double ulps = std::fabs(y - rounded) / unit;
    t.max_ulps = std::max(t.max_ulps, ulps);
    ++t.histogram[y * rounded < 0 ? 7 : ulp_bin(ulps)];
    if (!correctly_rounded(y, o, rounded, slack)) ++t.inexact;
    const double bound = o == 0 && slack == 0 ? 0 : (gates_.ulps + 0.5) * unit + slack + row_slack;
    if (off > bound || (gates_.bitwise_value && y != rounded)) {
      ++t.over_bound;
      t.keep({index, rounded, y, ulps, off, off - bound});
    }
  }

  // Within what the arithmetic may be off, both neighbours of a tie are correct.
  bool correctly_rounded(double y, double o, double rounded, double slack) const {
    if (y == rounded) return true;
    if (gates_.against_steps) return std::fabs(y - rounded) <= slack;
    const double reach = slack + kNatural * gates_.arithmetic * std::fabs(o);
    return y >= round_to(got_.dtype, o - reach) && y <= round_to(got_.dtype, o + reach);
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

}  // namespace

void Tally::keep(const Violation& violation) {
  violations.push_back(violation);
  if (violations.size() >= 4 * kWorst) shrink(violations);
}

void Tally::merge(const Tally& other) {
  error2 += other.error2;
  exact2 += other.exact2;
  exact4 += other.exact4;
  unrounded2 += other.unrounded2;
  slack2 += other.slack2;
  signed_error += other.signed_error;
  sensitivity2 += other.sensitivity2;
  max_exact = std::max(max_exact, other.max_exact);
  max_abs = std::max(max_abs, other.max_abs);
  max_rel = std::max(max_rel, other.max_rel);
  max_ulps = std::max(max_ulps, other.max_ulps);
  finite += other.finite;
  inexact += other.inexact;
  over_bound += other.over_bound;
  class_errors += other.class_errors;
  nonfinite_expected += other.nonfinite_expected;
  nonfinite_got += other.nonfinite_got;
  if (first_class_error < 0) first_class_error = other.first_class_error;
  for (std::size_t i = 0; i < histogram.size(); ++i) histogram[i] += other.histogram[i];
  if (other.worst_row_ratio > worst_row_ratio) {
    worst_row_ratio = other.worst_row_ratio;
    worst_row = other.worst_row;
    worst_row_nrmse = other.worst_row_nrmse;
    worst_row_limit = other.worst_row_limit;
  }
  for (const Violation& violation : other.violations) keep(violation);
  shrink(violations);
}

double chance(double count, double exact2, double exact4) {
  const double effective = exact4 > 0 ? std::min(count, 3 * exact2 * exact2 / exact4) : count;
  return 1 + 5 / std::sqrt(std::max(effective, 1.0));
}

Tally tally(const TensorView& got, const Expectation& expected, const Gates& gates) {
  Tally total = Comparer(got, expected, gates).run();
  std::stable_sort(total.violations.begin(), total.violations.end(),
                   [](const auto& a, const auto& b) { return a.excess > b.excess; });
  shrink(total.violations);
  return total;
}

}  // namespace kw::suite
