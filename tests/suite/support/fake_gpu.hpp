// SPDX-License-Identifier: Apache-2.0
// A FakeDevice that can run the suite's own kernels, and `affine` on it; with a catalog, a
// platform.
#pragma once

#include <functional>
#include <memory>

#include "jit/support/fake_toolchain.hpp"
#include "kernelwright/core/catalog.hpp"
#include "kernelwright/jit/plan.hpp"
#include "kernelwright/suite/device_kernels.hpp"
#include "kernelwright/suite/request.hpp"
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

// The self-test's operations and such a device, for tests to add implementations to.
struct GpuWorld {
  FakeDevice device;
  FakeToolchain toolchain;
  jit::HeaderBundle headers;
  std::unique_ptr<jit::Session> session;
  std::shared_ptr<suite::DeviceKernels> kernels;
  Catalog catalog;

  explicit GpuWorld(const FakeDeviceOptions& options = {});
  suite::Platform platform() { return {catalog, device, {}, {}, kernels}; }
};

}  // namespace kw::test
