// SPDX-License-Identifier: Apache-2.0
// What two readings of a device say about the samples between them. Flags, never a discarded
// sample.
#pragma once

#include "kernelwright/suite/report.hpp"

namespace kw::suite {

// By `before`, `after` and `seconds` of `timing`: power_limited, thermal (held back for more than
// 1 % of the block, or at its end), clock_drift (more than 2 %), shared_gpu.
void add_flags_of_block(Timing& timing);

}  // namespace kw::suite
