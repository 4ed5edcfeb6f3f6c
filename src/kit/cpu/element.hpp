// SPDX-License-Identifier: Apache-2.0
// The integer or float in which vector code stores an element.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernelwright/kit/shared/element.hpp"

namespace kw::kit::cpu {

template <Element kElement>
using Storage = std::conditional_t<kElement == Element::kF32, float, std::uint16_t>;

}  // namespace kw::kit::cpu
