// SPDX-License-Identifier: Apache-2.0
// Private: the kernels of probes, on the host or compiled for a device, and what a call of theirs
// gets. How it is enqueued, with what is planted there: probe_launch.cpp.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "kernelwright/kit/shared/probe.hpp"
#include "kernelwright/runtime/stream.hpp"
#include "kernelwright/suite/selftest/emulated_device.hpp"
#include "kernelwright/suite/selftest/probe.hpp"

namespace kw::suite {

kit::ProbeArgs probe_args(const AffineArgs& args);
kit::ProbeArgs probe_args(const AffineBackwardArgs& args);
kit::ProbeArgs probe_args(const GatherArgs& args);
kit::ProbeArgs probe_args(const UpdateArgs& args);

// Ready to be enqueued on one device.
struct ProbeKernel {
  kit::ProbeCfg cfg;
  EmulatedDevice* emulated = nullptr;       // null: elsewhere
  std::shared_ptr<const jit::Plan> device;  // null: host code

  // Work of `stream`; host code that is not on an emulated device is done at once. Throws.
  Status launch(const kit::ProbeArgs& args, void* stream) const;
};

// Of one implementation, for the life of the process.
struct ProbeSelf {
  kit::ProbeOperation operation{};
  bool reference = false;
  Sabotage sabotage = Sabotage::kNone;
  ProbeToolchain toolchain;
  const struct ProbePlan* first = nullptr;  // of those that live
};

// Saboteurs keep state between calls.
struct ProbePlan {
  ProbeSelf* self = nullptr;
  runtime::Device* device = nullptr;  // null: that of an oracle, which only computes
  ProbeKernel kernel;
  runtime::OwnedStream side;        // where the device has streams
  runtime::Buffer counter, pinned;  // an int that is 0 at first; ProbeArgs
  mutable std::mutex mutex;         // guards what follows
  mutable int calls = 0, captured = 0;
  mutable std::map<std::pair<const void*, long long>, runtime::Buffer> memo;
  mutable std::vector<std::vector<std::byte>> kept;
  mutable std::vector<runtime::Buffer> buffers;
  mutable runtime::Buffer frozen_x, frozen_factor;
  mutable std::optional<kit::ProbeArgs> deferred;

  bool is(Sabotage sabotage) const noexcept { return self->sabotage == sabotage; }
};

// The implementation of `Args`' operation.
template <typename Args>
Implementation make_probe(kit::ProbeOperation operation, bool reference, Sabotage sabotage,
                          DeviceKind device, const ProbeToolchain& toolchain);

}  // namespace kw::suite
