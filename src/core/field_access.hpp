// SPDX-License-Identifier: Apache-2.0
// Typed access to the fields of an Args object through the offsets of its contract. Private to
// core.
#pragma once

#include <cstddef>
#include <optional>

#include "kernelwright/core/contract.hpp"

namespace kw {

template <typename Field>
const Field& field_at(const void* args, std::size_t offset) noexcept {
  return *reinterpret_cast<const Field*>(static_cast<const std::byte*>(args) + offset);
}
template <typename Field>
Field& field_at(void* args, std::size_t offset) noexcept {
  return *reinterpret_cast<Field*>(static_cast<std::byte*>(args) + offset);
}

// In-place use: the same elements at the same indices, not merely the same memory.
inline bool is_same_tensor(const TensorView& a, const TensorView& b) noexcept {
  if (a.data != b.data || a.dtype != b.dtype || a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (a.sizes[at] != b.sizes[at] || (a.sizes[at] > 1 && a.strides[at] != b.strides[at]))
      return false;
  }
  return true;
}

// The scalar of a row into `value`, or false when its optional is empty. 64-bit integers are exact
// to 2^53. No std::optional<double> is returned: it would go through memory, 6 ns of a call.
inline bool read_scalar(const void* args, const CallStep& step, double& value) noexcept {
  const auto read = [&](const auto& field) {
    if (field.has_value()) value = static_cast<double>(*field);
    return field.has_value();
  };
  switch (step.kind) {
    case Kind::kBool:
      value = field_at<bool>(args, step.offset) ? 1.0 : 0.0;
      return true;
    case Kind::kEnum:
      value = field_at<int>(args, step.offset);
      return true;
    case Kind::kInt:
      if (step.is_optional_field)
        return read(field_at<std::optional<std::int64_t>>(args, step.offset));
      value = static_cast<double>(field_at<std::int64_t>(args, step.offset));
      return true;
    default:
      if (step.is_optional_field) return read(field_at<std::optional<double>>(args, step.offset));
      value = field_at<double>(args, step.offset);
      return true;
  }
}

inline std::optional<double> scalar_at(const void* args, const CallStep& step) noexcept {
  double value = 0;
  return read_scalar(args, step, value) ? std::optional(value) : std::nullopt;
}

}  // namespace kw
