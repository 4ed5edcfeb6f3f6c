// SPDX-License-Identifier: Apache-2.0
// A plain rms_norm (standard and fp32) on host memory, and the mistakes that such kernels have been
// published with, one at a time.
#pragma once

#include "kernelwright/core/implementation.hpp"

namespace kw::ops::rms_norm {

enum class Fault {
  kNone,
  kExtraRounding,      // fp32: x * rstd goes through storage before the weight
  kTailOverNextRow,    // rows of whole vectors of 8, from the last to the first
  kTreeByRowCount,     // from 8 rows on each is summed in another order
  kWeightType,         // a weight of f32 is read as if it had the type of x
  kLastRow,            // is not written
  kCached,             // the first answer for an address and a shape is given for ever
  kSideStream,         // the work is on a stream of its own
  kInPlaceContiguous,  // a contiguous input is normalised in place first
  kNarrowOffset,       // row offsets are int
  kSwallowsNan,        // a row with NaN becomes zero
};

// "<device>.planted.rms_norm", declared deterministic and batch-invariant.
Implementation planted(Fault fault, DeviceKind device = DeviceKind::kCpu);

}  // namespace kw::ops::rms_norm
