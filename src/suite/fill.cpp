// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/fill.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/random.hpp"

namespace kw::suite {
namespace {

struct Entry {
  Fill fill;
  std::string_view name;
  bool random, discrete, rows;
};

constexpr std::array<Entry, 12> kEntries{{
    {Fill::kNormal, "normal", true, false, false},
    {Fill::kNormalOutlier, "normal_outlier", false, false, false},
    {Fill::kUniform, "uniform", true, false, false},
    {Fill::kExactInt, "exact_int", false, true, false},
    {Fill::kBig, "big", false, false, true},
    {Fill::kTiny, "tiny", false, true, true},
    {Fill::kMixedMag, "mixed_mag", false, false, true},
    {Fill::kConst, "const", false, true, true},
    {Fill::kZeros, "zeros", false, true, true},
    {Fill::kZeroRows, "zero_rows", false, false, true},
    {Fill::kNanRow, "nan_row", false, false, true},
    {Fill::kInfElem, "inf_elem", false, false, true},
}};

const Entry& entry(Fill fill) noexcept { return kEntries[static_cast<std::size_t>(fill)]; }

constexpr std::size_t kLanes = 16;  // counters per vector step, four elements each
constexpr std::int64_t kStep = 4 * kLanes;
constexpr std::int64_t kChunk =
    1 << 13;  // elements per task and staging buffer; a multiple of kStep

// Fewer elements are not worth a team of threads.
constexpr std::int64_t kParallel = 1 << 15;

// Exponents that depend on the range of the type.
struct Range {
  int big, tiny, mixed;
};
constexpr Range range_of(DType dtype) noexcept {
  return dtype == DType::kF16 ? Range{14, -20, 8} : Range{48, -130, 20};
}

// Elements [begin, begin + kStep) of standard normals, in units of 2^-16; begin is a multiple of 4.
void normal_step(std::uint64_t key, std::int64_t begin, std::int32_t* out) {
  std::array<std::array<std::int32_t, kLanes>, 4> sums;
  for (auto& lane : sums) lane.fill(-6 * 65536);
  for (std::uint32_t block = 0; block < 6; ++block) {
    const PhiloxLanes<kLanes> random(key, static_cast<std::uint64_t>(begin) / 4, block);
    for (std::size_t w = 0; w < 4; ++w) {
      for (std::size_t i = 0; i < kLanes; ++i) {
        const std::uint32_t word = random.words[w][i];
        sums[w][i] += static_cast<std::int32_t>((word & 0xffffU) + (word >> 16));
      }
    }
  }
  for (std::size_t i = 0; i < kLanes; ++i) {
    for (std::size_t w = 0; w < 4; ++w) out[4 * i + w] = sums[w][i];
  }
}

void word_step(std::uint64_t key, std::int64_t begin, std::uint32_t* out) {
  const PhiloxLanes<kLanes> random(key, static_cast<std::uint64_t>(begin) / 4, 0);
  for (std::size_t i = 0; i < kLanes; ++i) {
    for (std::size_t w = 0; w < 4; ++w) out[4 * i + w] = random.words[w][i];
  }
}

// Values of consecutive logical indices.
class Generator {
 public:
  Generator(DType dtype, const FillKey& key, std::int64_t numel)
      : dtype_(dtype),
        fill_(key.fill),
        key_(mix64(key.seed) ^ name_hash(key.name)),
        width_(std::max<std::int64_t>(key.row_width, 1)),
        middle_row_(numel / width_ / 2),
        range_(range_of(dtype)) {
    unit_ = std::ldexp(1.0, key.exponent - 16);
    while (radius_ > 1 && radius_ * radius_ * width_ > (std::int64_t{1} << 23)) --radius_;
  }

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
  void step(std::int64_t at, double* out) const {
    if (!is_float(dtype_) || uses_words()) {
      std::array<std::uint32_t, kStep> words;
      word_step(key_, at, words.data());
      for (std::size_t i = 0; i < words.size(); ++i) out[i] = from_word(words[i]);
      return;
    }
    std::array<std::int32_t, kStep> normals;
    normal_step(key_, at, normals.data());
    for (std::size_t i = 0; i < normals.size(); ++i) out[i] = normals[i] * unit_;
    if (fill_ == Fill::kNormal) return;
    for (std::size_t i = 0; i < normals.size(); ++i) {
      const std::int64_t index = at + static_cast<std::int64_t>(i);
      out[i] = shaped(out[i], index / width_, index % width_, index);
    }
  }

  bool uses_words() const {
    return fill_ == Fill::kUniform || fill_ == Fill::kExactInt || fill_ == Fill::kBig ||
           fill_ == Fill::kTiny;
  }

  double from_word(std::uint32_t word) const {
    if (dtype_ == DType::kBool) return word & 1U;
    if (!is_float(dtype_)) return word & 3U;
    if (fill_ == Fill::kUniform) {
      return (static_cast<std::int32_t>(word >> 8) - (1 << 23)) * unit_ * 0x1p-7;
    }
    if (fill_ == Fill::kExactInt) {
      const std::uint64_t choices = 2 * static_cast<std::uint64_t>(radius_) + 1;
      return static_cast<double>((std::uint64_t{word} * choices) >> 32) -
             static_cast<double>(radius_);
    }
    const double magnitude = static_cast<double>((1U << 23) + (word >> 9)) * 0x1p-23;  // [1, 2)
    const double scaled = std::ldexp(magnitude, fill_ == Fill::kBig ? range_.big : range_.tiny);
    return (word & 1U) != 0 ? -scaled : scaled;
  }

  double shaped(double normal, std::int64_t row, std::int64_t channel, std::int64_t index) const {
    switch (fill_) {
      case Fill::kNormalOutlier:
        return channel % 512 == 0 ? normal * 40 : normal;
      case Fill::kMixedMag:
        return std::ldexp(normal, index % 2 == 0 ? range_.mixed : -range_.mixed);
      case Fill::kConst:
        return static_cast<double>(1 + row % 7) * (row % 2 == 0 ? 0.25 : -0.25);
      case Fill::kZeros:
        return 0;
      case Fill::kZeroRows:
        return row % 3 == 0 ? 0 : normal;
      case Fill::kNanRow:
        return row == middle_row_ && channel % 5 == 0 ? std::numeric_limits<double>::quiet_NaN()
                                                      : normal;
      case Fill::kInfElem:
        return row == middle_row_ && channel == width_ / 2 ? std::numeric_limits<double>::infinity()
                                                           : normal;
      default:
        return normal;
    }
  }

  DType dtype_;
  Fill fill_;
  std::uint64_t key_;
  std::int64_t width_, middle_row_;
  Range range_;
  double unit_ = 0;
  std::int64_t radius_ = 4;
};

// One index per memory element: dimensions of stride 0 shrink to their first index.
TensorView distinct_elements(const TensorView& view) {
  TensorView distinct = view;
  for (int d = 0; d < view.rank; ++d) {
    const auto at = static_cast<std::size_t>(d);
    if (view.strides[at] == 0 && view.sizes[at] > 1) distinct.sizes[at] = 1;
  }
  return distinct;
}

}  // namespace

std::string_view fill_name(Fill fill) noexcept { return entry(fill).name; }

Fill parse_fill(std::string_view name) {
  std::vector<std::string> names;
  for (const Entry& candidate : kEntries) {
    if (candidate.name == name) return candidate.fill;
    names.emplace_back(candidate.name);
  }
  fail(Code::kNotFound, "{}", unknown_name_message("fill", name, names));
}

const std::vector<Fill>& fill_catalogue() noexcept {
  static const std::vector<Fill> all = [] {
    std::vector<Fill> fills;
    for (const Entry& candidate : kEntries) fills.push_back(candidate.fill);
    return fills;
  }();
  return all;
}

bool is_random(Fill fill) noexcept { return entry(fill).random; }
bool is_discrete(Fill fill) noexcept { return entry(fill).discrete; }
bool is_row_fill(Fill fill) noexcept { return entry(fill).rows; }

int batch_exponent(Fill fill) noexcept {
  if (fill == Fill::kUniform) return 2;  // its deviation is 0.58
  return is_random(fill) ? 1 : 0;
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

}  // namespace kw::suite
