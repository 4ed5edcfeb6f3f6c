// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/base/dtype.hpp"

#include <array>

#include "kernelwright/base/text.hpp"

namespace kw {
namespace {

constexpr std::array<std::string_view, kNumDTypes> kNames = {
    "f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64", "i32", "u8", "bool"};

}  // namespace

std::string_view dtype_name(DType dtype) noexcept {
  return kNames[static_cast<std::size_t>(dtype)];
}

std::optional<DType> parse_dtype(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::string unknown_dtype_message(std::string_view name) {
  return unknown_name_message("dtype", name, {kNames.begin(), kNames.end()});
}

}  // namespace kw
