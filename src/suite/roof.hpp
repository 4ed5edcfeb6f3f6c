// SPDX-License-Identifier: Apache-2.0
// The fastest copy this device does, measured in the run whose figures it bounds.
#pragma once

#include "kernelwright/suite/report.hpp"

namespace kw::suite {

// Bytes count twice, read and written, over buffers of at least four last-level caches. On the CPU
// the better of memcpy and non-temporal stores, with the threads that kernels use; elsewhere the
// device's own copy. The best repetition counts: a roof is what can be reached.
Roof measure_copy_roof(runtime::Device& device);

}  // namespace kw::suite
