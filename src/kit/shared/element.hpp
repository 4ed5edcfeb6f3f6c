// SPDX-License-Identifier: Apache-2.0
// Element formats that kernels compute with; a Cfg field of kernels. Freestanding.
#pragma once

namespace kw::kit {

enum class Element : int { kF32, kF16, kBF16 };
inline constexpr const char* kElementNames[] = {"f32", "f16", "bf16"};

constexpr int element_bytes(Element element) { return element == Element::kF32 ? 4 : 2; }

// Of base's DType, which a freestanding header cannot name. Of one of the three: `supports` has
// turned every other away.
template <typename DType>
constexpr Element element_of(DType dtype) {
  return dtype == DType::kBF16  ? Element::kBF16
         : dtype == DType::kF16 ? Element::kF16
                                : Element::kF32;
}

}  // namespace kw::kit
