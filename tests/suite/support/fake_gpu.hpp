// SPDX-License-Identifier: Apache-2.0
// A FakeDevice that can run the suite's own kernels, and `affine` on it.
#pragma once

#include <functional>

#include "jit/support/fake_toolchain.hpp"
#include "kernelwright/suite/device_kernels.hpp"
#include "support/fake_device.hpp"

namespace kw::test {

// Host code under the names of suite/device_kernels.hpp, for every fill, type and layout.
void define_suite_kernels(FakeDevice& device);

// What is wrong with an implementation that is captured.
enum class GraphSabotage {
  kNone,
  kKeepsValues,    // takes the inputs when captured, not when run
  kRunsOnce,       // a second run of a graph changes nothing
  kWrongFarSlice,  // from slice 200 on
  kRemembers,      // the answer of the first call on an output
};

// cuda.toy.affine: work of the device's stream. `device` outlives the catalog. A call takes what
// `ns` says of it; without, kKernelNs.
Implementation gpu_affine(FakeDevice& device, GraphSabotage sabotage,
                          std::function<double()> ns = {});

}  // namespace kw::test
