// SPDX-License-Identifier: Apache-2.0
// One rms_norm problem on the device: layouts, random inputs, the double reference, and the
// comparison.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <random>

#include "cuda_driver.hpp"
#include "kernelwright/base/numeric.hpp"
#include "rms_norm_units.hpp"

namespace kw::gpu_tool {

using rms::Element;
using rms::Variant;

// A [*, C] tensor: leading sizes and strides, step between columns, first element.
struct Layout {
  std::vector<long long> sizes, strides;
  long long step = 1, offset = 0;

  long long rows() const {
    return std::accumulate(sizes.begin(), sizes.end(), 1LL, std::multiplies<>());
  }
  long long row_at(long long row) const {
    long long at = offset;
    for (std::size_t d = sizes.size(); d-- > 0;) {
      at += row % sizes[d] * strides[d];
      row /= sizes[d];
    }
    return at;
  }
  long long extent(int hidden) const {  // elements from 0 to the last one
    long long last = offset + (hidden - 1) * step;
    for (std::size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
    return last + 1;
  }
};

inline Layout contiguous(std::vector<long long> sizes, long long pitch, long long offset = 0) {
  Layout layout{sizes, std::vector<long long>(sizes.size()), 1, offset};
  for (std::size_t d = sizes.size(); d-- > 0;) {
    layout.strides[d] = pitch;
    pitch *= sizes[d];
  }
  return layout;
}

inline double load_element(Element element, const void* data, long long at) {
  if (element == Element::kF32) return static_cast<const float*>(data)[at];
  const auto bits = static_cast<const std::uint16_t*>(data)[at];
  return element == Element::kBF16 ? to_f32(bf16{bits}) : to_f32(f16{bits});
}

inline double rounded_to(Element element, double value) {
  if (element == Element::kF32) return from_f64<float>(value);
  return element == Element::kBF16 ? to_f64(from_f64<bf16>(value)) : to_f64(from_f64<f16>(value));
}

inline void store_element(Element element, void* data, long long at, double value) {
  if (element == Element::kF32) {
    static_cast<float*>(data)[at] = from_f64<float>(value);
  } else {
    static_cast<std::uint16_t*>(data)[at] =
        element == Element::kBF16 ? from_f64<bf16>(value).bits : from_f64<f16>(value).bits;
  }
}

inline std::vector<unsigned char> random_elements(Element element, long long count, double mean,
                                                  double scale, unsigned seed) {
  std::vector<unsigned char> data(static_cast<std::size_t>(count * rms::element_bytes(element)));
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  for (long long i = 0; i < count; ++i)
    store_element(element, data.data(), i, mean + scale * normal(engine));
  return data;
}

// Distance of one output from the reference, in bounds: |out - want| <= ulps of want + slack, where
// slack is the error of the evaluation in f32. `inexact`: further than slack from a rounding of the
// reference to nearest.
struct Comparison {
  long long elements = 0, inexact = 0, bad = 0;
  double worst = 0;  // in units of the bound

  void add(Element element, double out, double want, double slack, int ulps) {
    ++elements;
    const double nearest = rounded_to(element, want);
    if (out == nearest || (std::isnan(out) && std::isnan(nearest))) return;
    const int digits = element == Element::kF32 ? 23 : element == Element::kBF16 ? 7 : 10;
    const int lowest = element == Element::kF16 ? -14 : -126;
    const double ulp =
        std::ldexp(1.0, std::max(want == 0 ? lowest : std::ilogb(want), lowest) - digits);
    const double distance = std::abs(out - want), ratio = distance / (ulps * ulp + slack);
    if (!(distance <= 0.5 * ulp + slack)) ++inexact;
    if (!(ratio <= 1)) ++bad;
    worst = std::isnan(ratio) ? INFINITY : std::max(worst, ratio);
  }
  // Beyond single bounds: f16 and bf16 results round the reference to nearest nearly everywhere
  // (a second rounding, of `standard`, may move an element by one).
  bool good(Element element) const {
    return bad == 0 && (element == Element::kF32 || inexact <= 4 + elements * 3 / 100);
  }
};

inline int alignment_of(int value_bytes, std::initializer_list<long long> counts) {
  long long common = 16;
  for (const long long count : counts) common = std::gcd(common, std::abs(count) * value_bytes);
  return static_cast<int>(common);
}

struct Problem {
  Variant variant = Variant::kStandard;
  Element element = Element::kBF16, weight = Element::kBF16;
  int hidden = 0;
  Layout x, y, dy;   // backward: dx is laid out as y
  bool rstd = true;  // forward: saved; backward: given
  bool want_dx = true, want_dweight = true;
  long long weight_step = 1, weight_offset = 0;
  double eps = 1e-6;
  std::string name;

  bool weighted() const { return rms::weighted(variant); }

  // The facts of a Cfg that this problem fixes.
  template <typename Cfg>
  void describe(Cfg& cfg, int leading, bool backward) const {
    cfg.variant = variant;
    cfg.element = element;
    cfg.weight = weighted() ? weight : Cfg{}.weight;
    cfg.hidden = hidden;
    cfg.leading = leading;
    const int size = rms::element_bytes(element);
    cfg.unit_stride = x.step == 1 && y.step == 1 && (!weighted() || weight_step == 1) &&
                      (!backward || dy.step == 1);
    cfg.access = alignment_of(size, {hidden});
    for (const Layout* layout : {&x, &y, &dy}) {
      if (layout == &dy && !backward) continue;
      cfg.access = std::gcd(cfg.access, alignment_of(size, {layout->offset}));
      for (const long long stride : layout->strides)
        cfg.access = std::gcd(cfg.access, alignment_of(size, {stride}));
    }
    if (!cfg.unit_stride) cfg.access = size;
    cfg.weight_access = weighted() ? alignment_of(rms::element_bytes(weight), {weight_offset}) : 16;
  }
};

}  // namespace kw::gpu_tool
