// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/element.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/numeric.hpp"

namespace kw::suite {
namespace {

// Elements handled by one task of a parallel loop.
constexpr std::int64_t kChunk = 1 << 14;
// Fewer elements are not worth a team of threads.
constexpr std::int64_t kParallel = 1 << 18;

template <typename T>
T load(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

template <typename T>
void store(void* address, T value) {
  std::memcpy(address, &value, sizeof(T));
}

[[noreturn]] void no_elements(DType dtype) {
  fail(Code::kUnsupported,
       "the suite cannot convert {} elements; it knows f64, f32, f16, bf16, i64, i32, u8 and bool",
       dtype_name(dtype));
}

// A bool in memory may hold any byte: poison, for one. Only its being zero counts.
struct Flag {
  std::uint8_t byte = 0;
};

// Calls visit(T{}) with the storage type.
template <typename Visit>
void with_type(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kF64:
      return visit(double{});
    case DType::kF32:
      return visit(float{});
    case DType::kF16:
      return visit(f16{});
    case DType::kBF16:
      return visit(bf16{});
    case DType::kI64:
      return visit(std::int64_t{});
    case DType::kI32:
      return visit(std::int32_t{});
    case DType::kU8:
      return visit(std::uint8_t{});
    case DType::kBool:
      return visit(Flag{});
    default:
      no_elements(dtype);
  }
}

template <typename T>
double widen(T value) {
  if constexpr (std::is_same_v<T, Flag>)
    return value.byte != 0 ? 1 : 0;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<double>(value);
  else
    return to_f64(value);
}

template <typename T>
T narrow(double value) {
  if constexpr (std::is_same_v<T, Flag>)
    return {static_cast<std::uint8_t>(value != 0 ? 1 : 0)};
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(std::llrint(value));
  else
    return from_f64<T>(value);
}

// Runs body(logical index, element offset) over the whole view, in parallel chunks.
template <typename Body>
void for_each_element(const TensorView& view, Body body) {
  const std::int64_t count = view.numel();
  const std::int64_t chunks = (count + kChunk - 1) / kChunk;
#pragma omp parallel for schedule(static) if (count > kParallel)
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const std::int64_t begin = chunk * kChunk;
    const std::int64_t end = std::min(count, begin + kChunk);
    ElementWalk walk(view, begin);
    for (std::int64_t i = begin; i < end; ++i, walk.advance()) body(i, walk.offset());
  }
}

}  // namespace

bool has_elements(DType dtype) noexcept {
  return dtype != DType::kF8E4M3 && dtype != DType::kF8E5M2;
}

double load_element(DType dtype, const void* address) {
  double value = 0;
  with_type(dtype, [&](auto type) { value = widen(load<decltype(type)>(address)); });
  return value;
}

void store_element(DType dtype, void* address, double value) {
  with_type(dtype, [&](auto type) { store(address, narrow<decltype(type)>(value)); });
}

double round_to(DType dtype, double value) {
  double rounded = 0;
  with_type(dtype, [&](auto type) { rounded = widen(narrow<decltype(type)>(value)); });
  return rounded;
}

void round_all(DType dtype, double* values, std::int64_t count) {
  with_type(dtype, [&](auto type) {
    for (std::int64_t i = 0; i < count; ++i) values[i] = widen(narrow<decltype(type)>(values[i]));
  });
}

double FloatFormat::smallest() const noexcept {
  return std::ldexp(1.0, min_exponent - (digits - 1));
}

double FloatFormat::ulp(double value) const noexcept {
  const double magnitude = std::min(std::fabs(value), max_finite);
  const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(magnitude) >> 52) - 1023;
  if (exponent < min_exponent) return smallest();
  const int spacing = exponent - (digits - 1);
  if (spacing < -1022) return std::ldexp(1.0, spacing);
  return std::bit_cast<double>(static_cast<std::uint64_t>(spacing + 1023) << 52);
}

FloatFormat float_format(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {53, -1022, std::numeric_limits<double>::max()};
    case DType::kF32:
      return {24, -126, std::numeric_limits<float>::max()};
    case DType::kF16:
      return {11, -14, 65504.0};
    case DType::kBF16:
      return {8, -126, 0x1.fep127};
    default:
      no_elements(dtype);
  }
}

ElementWalk::ElementWalk(const TensorView& view, std::int64_t first)
    : rank_(std::max<int>(view.rank, 0)) {
  std::int64_t rest = first;
  for (int d = rank_ - 1; d >= 0; --d) {
    const auto at = static_cast<std::size_t>(d);
    sizes_[d] = view.sizes[at];
    strides_[d] = view.strides[at];
    index_[d] = sizes_[d] == 0 ? 0 : rest % sizes_[d];
    rest = sizes_[d] == 0 ? 0 : rest / sizes_[d];
    offset_ += index_[d] * strides_[d];
  }
}

void store_run(DType dtype, void* base, ElementWalk& walk, const double* values,
               std::int64_t count) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    auto* bytes = static_cast<std::byte*>(base);
    for (std::int64_t i = 0; i < count; ++i, walk.advance()) {
      store(bytes + walk.offset() * std::int64_t{sizeof(T)}, narrow<T>(values[i]));
    }
  });
}

std::vector<double> read_elements(const TensorView& view) {
  std::vector<double> values(static_cast<std::size_t>(view.numel()));
  with_type(view.dtype, [&](auto type) {
    using T = decltype(type);
    const auto* base = static_cast<const std::byte*>(view.data);
    for_each_element(view, [&](std::int64_t i, std::int64_t offset) {
      values[static_cast<std::size_t>(i)] = widen(load<T>(base + offset * std::int64_t{sizeof(T)}));
    });
  });
  return values;
}

void write_elements(const TensorView& view, const std::vector<double>& values) {
  with_type(view.dtype, [&](auto type) {
    using T = decltype(type);
    auto* base = static_cast<std::byte*>(view.data);
    for_each_element(view, [&](std::int64_t i, std::int64_t offset) {
      store(base + offset * std::int64_t{sizeof(T)},
            narrow<T>(values[static_cast<std::size_t>(i)]));
    });
  });
}

}  // namespace kw::suite
