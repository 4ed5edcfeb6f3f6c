// SPDX-License-Identifier: Apache-2.0
// Private: what a probe computes, on host memory, with what is planted in its values and its use of
// memory. How it is enqueued: probe_launch.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "kernelwright/runtime/stream.hpp"
#include "kernelwright/suite/selftest/emulated_device.hpp"
#include "kernelwright/suite/selftest/probe.hpp"

namespace kw::suite {

inline constexpr std::int64_t kProbeWorkspaceBytes = 128, kProbeZeroedBytes = 64;

// Of one implementation, for the life of the process.
struct ProbeSelf {
  bool reference = false;
  Sabotage sabotage = Sabotage::kNone;
  EmulatedDevice* first_device = nullptr;
};

// Saboteurs keep state between calls.
struct ProbePlan {
  const ProbeSelf* self = nullptr;
  bool two = false;
  EmulatedDevice* device = nullptr;  // null: work is done at once
  mutable std::mutex mutex;          // guards what follows
  mutable int calls = 0, captured = 0;
  mutable std::map<std::pair<const void*, std::size_t>, std::vector<double>> memo;
  mutable std::vector<std::vector<std::byte>> kept;
  mutable std::vector<runtime::Buffer> buffers;
  mutable runtime::OwnedStream side;
  mutable std::function<void()> work;  // deferred or shared

  bool is(Sabotage sabotage) const noexcept { return self->sabotage == sabotage; }
};

void run_affine(const ProbePlan& plan, const AffineArgs& args, unsigned char* workspace);
void run_affine_backward(const ProbePlan& plan, const AffineBackwardArgs& args, unsigned char*);
void run_gather(const ProbePlan& plan, const GatherArgs& args, unsigned char*);
void run_update(const ProbePlan& plan, const UpdateArgs& args, unsigned char*);

// The implementation of `Args`' operation, by one of the functions above.
template <typename Args, void (*kRun)(const ProbePlan&, const Args&, unsigned char*)>
Implementation make_probe(bool reference, Sabotage sabotage, DeviceKind device);

}  // namespace kw::suite
