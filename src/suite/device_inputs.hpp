// SPDX-License-Identifier: Apache-2.0
// Inputs of a case made where they are needed.
#pragma once

#include "kernelwright/suite/case.hpp"
#include "kernelwright/suite/device_kernels.hpp"
#include "kernelwright/suite/inputs.hpp"

namespace kw::suite {

// Writes all read operands on the device of `placed` with the bits of fill_inputs(). Inputs that a
// forward saved still come from the host, computed a few slices at a time where slices suffice.
// Waits for the stream.
void fill_inputs_on_device(PlacedTensors& placed, const Case& spec, const Catalog& catalog,
                           DeviceKernels& kernels, void* stream);

}  // namespace kw::suite
