// SPDX-License-Identifier: Apache-2.0
// Storage types bf16 and f16 on the host, and round-to-nearest-even conversions. Scalar and exact:
// the reference and the oracles rest on it. Vector code has its own in kit/cpu.
#pragma once

#include <bit>
#include <cstdint>

namespace kw {

struct bf16 {
  std::uint16_t bits = 0;
};
struct f16 {
  std::uint16_t bits = 0;
};

constexpr float to_f32(bf16 value) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

constexpr bf16 to_bf16(float value) noexcept {
  const auto u = std::bit_cast<std::uint32_t>(value);
  if ((u & 0x7fffffffU) > 0x7f800000U) {  // NaN: keep sign and payload top, make it quiet
    return {static_cast<std::uint16_t>((u >> 16) | 0x40U)};
  }
  return {static_cast<std::uint16_t>((u + 0x7fffU + ((u >> 16) & 1U)) >> 16)};
}

constexpr float to_f32(f16 value) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const std::uint32_t magnitude = value.bits & 0x7fffU;
  if (magnitude >= 0x7c00U) {  // inf, NaN
    return std::bit_cast<float>(sign | 0x7f800000U | ((magnitude & 0x3ffU) << 13));
  }
  if (magnitude >= 0x400U) {
    return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000U));
  }
  const float subnormal = static_cast<float>(magnitude) * 0x1p-24F;  // exact
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(subnormal));
}

constexpr f16 to_f16(float value) noexcept {
  const auto u = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((u >> 16) & 0x8000U);
  const std::uint32_t magnitude = u & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {
    return {static_cast<std::uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x3ffU))};
  }
  if (magnitude >= 0x477ff000U) return {static_cast<std::uint16_t>(sign | 0x7c00U)};  // >= 65520
  if (magnitude < 0x38800000U) {  // below 2^-14: adding 0.5 aligns the f16 subnormal grid, RNE
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return {
        static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U))};
  }
  const std::uint32_t rounded = magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U);
  return {static_cast<std::uint16_t>(sign | (rounded >> 13))};
}

// Double sources round once: a detour over float would round twice. `odd` keeps the sticky bit.
constexpr float round_to_odd_f32(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || nearest != nearest) return nearest;
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const bool overshoot = (static_cast<double>(nearest) > value) == (value > 0);
  if (bits & 1U) return nearest;
  return std::bit_cast<float>(overshoot ? bits - 1U : bits + 1U);
}

template <typename T>
constexpr T from_f64(double value) noexcept;
template <>
constexpr double from_f64<double>(double value) noexcept {
  return value;
}
template <>
constexpr float from_f64<float>(double value) noexcept {
  return static_cast<float>(value);
}
template <>
constexpr bf16 from_f64<bf16>(double value) noexcept {
  return to_bf16(round_to_odd_f32(value));
}
template <>
constexpr f16 from_f64<f16>(double value) noexcept {
  return to_f16(round_to_odd_f32(value));
}

constexpr double to_f64(double value) noexcept { return value; }
constexpr double to_f64(float value) noexcept { return value; }
constexpr double to_f64(bf16 value) noexcept { return to_f32(value); }
constexpr double to_f64(f16 value) noexcept { return to_f32(value); }

}  // namespace kw
