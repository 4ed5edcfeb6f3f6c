// SPDX-License-Identifier: Apache-2.0
// The implementations of this folder, one function each; their order of rank stands in contract.cpp.
#pragma once

#include "kernelwright/core/implementation.hpp"

namespace kw::ops::rms_norm {

Implementation native();
Implementation native_backward();
Implementation reference();
Implementation reference_backward();

}  // namespace kw::ops::rms_norm
