// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/fill.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/random.hpp"

namespace kw::suite {
namespace {

struct Traits {
  bool random = false, discrete = false, rows = false;
};

constexpr Traits traits_of(Fill fill) noexcept {
  switch (fill) {
    case Fill::kNormal:
    case Fill::kUniform:
      return {.random = true};
    case Fill::kNormalOutlier:
      return {};
    case Fill::kExactInt:
      return {.discrete = true};
    case Fill::kTiny:
    case Fill::kConst:
    case Fill::kZeros:
      return {.discrete = true, .rows = true};
    default:
      return {.rows = true};
  }
}

constexpr int kLanes = 16;  // counters per vector step, four elements each
constexpr std::int64_t kStep = 4 * kLanes;
constexpr std::int64_t kChunk =
    1 << 13;  // elements per task and staging buffer; a multiple of kStep

// Fewer elements are not worth a team of threads.
constexpr std::int64_t kParallel = 1 << 15;

// Values of consecutive logical indices.
class Generator {
 public:
  Generator(DType dtype, const FillKey& key, std::int64_t numel)
      : type_(fill_type(dtype)), fill_(key.fill), rule_(fill_rule(key, numel)) {}

  void run(std::int64_t begin, std::int64_t count, double* out) const {
    const std::int64_t end = begin + count;
    for (std::int64_t at = begin / 4 * 4; at < end; at += kStep) {
      std::array<double, kStep> values;
      step(at, values.data());
      const std::int64_t from = std::max(at, begin), to = std::min(at + kStep, end);
      std::copy(values.begin() + (from - at), values.begin() + (to - at), out + (from - begin));
    }
  }

 private:
  // `at` is a multiple of 4.
  void step(std::int64_t at, double* out) const {
    const auto counter = static_cast<std::uint64_t>(at) / 4;
    if (kit::uses_words(fill_, type_)) {
      std::uint32_t words[kStep];
      kit::fill_words<kLanes>(rule_.key, counter, words);
      for (int i = 0; i < kStep; ++i) out[i] = kit::word_value(fill_, type_, rule_, words[i]);
      return;
    }
    std::int32_t normals[kStep];
    kit::fill_normals<kLanes>(rule_.key, counter, normals);
    if (fill_ == Fill::kNormal) {
      for (int i = 0; i < kStep; ++i) out[i] = normals[i] * rule_.unit;
      return;
    }
    for (int i = 0; i < kStep; ++i)
      out[i] = kit::normal_value(fill_, type_, rule_, normals[i], at + i);
  }

  kit::FillType type_;
  Fill fill_;
  kit::FillRule rule_;
};

}  // namespace

std::string_view fill_name(Fill fill) noexcept {
  return kit::kFillNames[static_cast<std::size_t>(fill)];
}

Fill parse_fill(std::string_view name) {
  for (const Fill fill : fill_catalogue()) {
    if (fill_name(fill) == name) return fill;
  }
  fail(
      Code::kNotFound, "{}",
      unknown_name_message("fill", name, {std::begin(kit::kFillNames), std::end(kit::kFillNames)}));
}

const std::vector<Fill>& fill_catalogue() noexcept {
  static const std::vector<Fill> all = [] {
    std::vector<Fill> fills;
    for (std::size_t i = 0; i < std::size(kit::kFillNames); ++i)
      fills.push_back(static_cast<Fill>(i));
    return fills;
  }();
  return all;
}

bool is_random(Fill fill) noexcept { return traits_of(fill).random; }
bool is_discrete(Fill fill) noexcept { return traits_of(fill).discrete; }
bool is_row_fill(Fill fill) noexcept { return traits_of(fill).rows; }

int batch_exponent(Fill fill) noexcept {
  if (fill == Fill::kUniform) return 2;  // its deviation is 0.58
  return is_random(fill) ? 1 : 0;
}

TensorView distinct_elements(const TensorView& view) {
  TensorView distinct = view;
  for (int d = 0; d < view.rank; ++d) {
    const auto at = static_cast<std::size_t>(d);
    if (view.strides[at] == 0 && view.sizes[at] > 1) distinct.sizes[at] = 1;
  }
  return distinct;
}

kit::FillType fill_type(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return kit::FillType::kF64;
    case DType::kF32:
      return kit::FillType::kF32;
    case DType::kF16:
      return kit::FillType::kF16;
    case DType::kBF16:
      return kit::FillType::kBF16;
    case DType::kI64:
      return kit::FillType::kI64;
    case DType::kI32:
      return kit::FillType::kI32;
    case DType::kU8:
      return kit::FillType::kU8;
    case DType::kBool:
      return kit::FillType::kBool;
    default:
      fail(Code::kUnsupported, "the suite makes no {} elements", dtype_name(dtype));
  }
}

kit::FillRule fill_rule(const FillKey& key, std::int64_t numel) {
  kit::FillRule rule;
  rule.key = mix64(key.seed) ^ name_hash(key.name);
  rule.width = std::max<std::int64_t>(key.row_width, 1);
  rule.middle_row = numel / rule.width / 2;
  while (rule.radius > 1 && rule.radius * rule.radius * rule.width > (std::int64_t{1} << 23))
    --rule.radius;
  rule.unit = std::ldexp(1.0, key.exponent - 16);
  return rule;
}

void fill_tensor(const TensorView& view, const FillKey& key) {
  const std::int64_t numel = view.numel();
  if (numel == 0) return;
  const Generator generator(view.dtype, key, numel);
  const TensorView distinct = distinct_elements(view);
  // The same elements in a row-major tensor: its offsets are the logical indices.
  TensorView logical = distinct;
  contiguous_strides(view.shape(), logical.strides);

  // Without shared elements the logical indices are consecutive; otherwise only within a last row.
  const std::int64_t count = distinct.numel();
  const std::int64_t run =
      count == numel ? kChunk : distinct.sizes[static_cast<std::size_t>(view.rank) - 1];
  const std::int64_t runs = (count + run - 1) / run;
  const bool parallel = count > kParallel && !self_overlaps(distinct);
#pragma omp parallel for schedule(static) if (parallel)
  for (std::int64_t r = 0; r < runs; ++r) {
    ElementWalk target(distinct, r * run);
    std::array<double, kChunk> values;
    std::int64_t index = ElementWalk(logical, r * run).offset();
    for (std::int64_t rest = std::min(run, count - r * run); rest > 0;) {
      const std::int64_t now = std::min(rest, kChunk);
      generator.run(index, now, values.data());
      store_run(view.dtype, view.data, target, values.data(), now);
      index += now;
      rest -= now;
    }
  }
}

void fill_values(DType dtype, const FillKey& key, std::int64_t numel, std::int64_t begin,
                 std::int64_t count, double* values) {
  Generator(dtype, key, numel).run(begin, count, values);
  round_all(dtype, values, count);
}

}  // namespace kw::suite
