// SPDX-License-Identifier: Apache-2.0
// Pins Highway to AVX2 and AVX-512 (its target AVX3: F, BW, CD, DQ, VL). Include it before any
// Highway header, and only from a native.cpp or a test that compiles kernels.
#pragma once

// Both may exceed what the translation unit's -march allows: Highway sets the target per function.
#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_DISABLED_TARGETS (~(HWY_AVX2 | HWY_AVX3))

#include <hwy/targets.h>

#include "kernelwright/kit/shared/cpu_isa.hpp"

namespace kw::kit::cpu {

// Whether this processor and operating system run `isa`.
inline bool isa_supported(Isa isa) noexcept {
  return (hwy::SupportedTargets() & (isa == Isa::kAvx2 ? HWY_AVX2 : HWY_AVX3)) != 0;
}

}  // namespace kw::kit::cpu
