// SPDX-License-Identifier: Apache-2.0
// Element types: names, sizes, accumulation type. No conversion code here (see numeric.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kw {

// Values are stable: they enter binary keys and, from 1.0, the C ABI.
enum class DType : std::uint8_t {
  kF64 = 0,
  kF32 = 1,
  kF16 = 2,
  kBF16 = 3,
  kF8E4M3 = 4,
  kF8E5M2 = 5,
  kI64 = 6,
  kI32 = 7,
  kU8 = 8,
  kBool = 9,
};

inline constexpr int kNumDTypes = 10;

// "bf16", as used in problem text, reports and Cfg values.
std::string_view dtype_name(DType dtype) noexcept;
std::optional<DType> parse_dtype(std::string_view name) noexcept;
// "unknown dtype 'bf17'; did you mean 'bf16'? known: f64, f32, ..."
std::string unknown_dtype_message(std::string_view name);

constexpr std::size_t dtype_bytes(DType dtype) noexcept {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
      return 2;
    default:
      return 1;
  }
}

constexpr bool is_float(DType dtype) noexcept {
  return static_cast<int>(dtype) <= static_cast<int>(DType::kF8E5M2);
}

// The type in which sums over elements of `dtype` are kept: f64 for f64, f32 for narrower floats,
// i64 for integers.
constexpr DType accumulation_dtype(DType dtype) noexcept {
  if (dtype == DType::kF64) return DType::kF64;
  return is_float(dtype) ? DType::kF32 : DType::kI64;
}

}  // namespace kw
