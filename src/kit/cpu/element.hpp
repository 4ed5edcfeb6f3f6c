// SPDX-License-Identifier: Apache-2.0
// Element formats of vector code and the integer or float that stores one. Knows no tensor.
#pragma once

#include <cstdint>
#include <type_traits>

namespace kw::kit::cpu {

enum class Element : int { kF32 = 0, kF16 = 1, kBf16 = 2 };

template <Element kElement>
using Storage = std::conditional_t<kElement == Element::kF32, float, std::uint16_t>;

}  // namespace kw::kit::cpu
