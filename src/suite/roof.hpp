// SPDX-License-Identifier: Apache-2.0
// The fastest that this device moves memory, measured in the run whose figures it bounds.
#pragma once

#include "kernelwright/suite/report.hpp"

namespace kw::suite {

// Copy, read and write, over buffers of at least four last-level caches; bytes of a copy count
// twice, read and written. On the CPU the better of plain and non-temporal stores, with the threads
// that kernels use; elsewhere the device's own copy and fill, and reads where `kernels` are. The
// best repetition counts: a roof is what can be reached.
Roof measure_roofs(runtime::Device& device, DeviceKernels* kernels);

}  // namespace kw::suite
