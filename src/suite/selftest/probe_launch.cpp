// SPDX-License-Identifier: Apache-2.0
// From a call of a probe to its work in a stream, with what is planted on that way.
#include <cstring>
#include <deque>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/selftest/probe_kernels.hpp"

namespace kw::suite {
namespace {

constexpr int kWarmupCalls = 150;
constexpr std::int64_t kLeakedBytes = 1 << 20;

// Inputs of the call as they are now, in memory of the copy's own.
std::shared_ptr<AffineArgs> with_values(const AffineArgs& args) {
  struct Frozen {
    std::vector<std::byte> x, gain;
    AffineArgs args;
  };
  const auto copy = [](const TensorView& view, std::vector<std::byte>& bytes) {
    const auto range = view.byte_range();
    bytes.resize(static_cast<std::size_t>(range.end - range.begin));
    std::memcpy(bytes.data(), static_cast<const std::byte*>(view.data) + range.begin, bytes.size());
    TensorView frozen = view;
    frozen.data = bytes.data() - range.begin;
    return frozen;
  };
  auto frozen = std::make_shared<Frozen>();
  frozen->args = args;
  frozen->args.x = copy(args.x, frozen->x);
  frozen->args.gain = copy(args.gain, frozen->gain);
  return {frozen, &frozen->args};
}

// `work` where and when it belongs, or not.
Status enqueue(const ProbePlan& plan, void* stream, std::function<void()> work) {
  EmulatedDevice& device = *plan.device;
  const bool capturing = device.is_capturing(stream);
  switch (plan.self->sabotage) {
    case Sabotage::kLeaksDevice:
      if (!capturing) plan.buffers.emplace_back(device, kLeakedBytes);
      break;
    case Sabotage::kSideStream:
      stream = plan.side.handle();
      break;
    case Sabotage::kDefaultStream:
      stream = nullptr;
      break;
    case Sabotage::kEscapes: {
      const auto event = device.create_event();
      event->record(stream);
      event->block(plan.side.handle());
      stream = plan.side.handle();
      break;
    }
    case Sabotage::kDeferred:
      std::swap(plan.work, work);
      if (!work) return {};
      break;
    case Sabotage::kSyncsHost:
      if (!capturing) device.synchronize(stream);
      break;
    case Sabotage::kSharedArguments:
      plan.work = std::move(work);
      work = [&plan] { plan.work(); };
      break;
    case Sabotage::kGraphDrops:
      if (capturing && plan.captured++ % 2 == 1) return {};
      break;
    case Sabotage::kCaptureEager:
      if (!capturing) break;
      work();
      return {};
    case Sabotage::kCaptureAllocates:
      if (capturing) plan.buffers.emplace_back(device, 64);
      break;
    case Sabotage::kGraphRunsOnce:
      if (capturing) {
        work = [work, runs = std::make_shared<int>(0)] {
          if ((*runs)++ == 0) work();
        };
      }
      break;
    case Sabotage::kLazyAllocates:
      if (plan.buffers.empty()) plan.buffers.emplace_back(device, 64);
      break;
    case Sabotage::kFirstDevice:
      if (&device != plan.self->first_device) {
        device.synchronize(stream);
        return plan.self->first_device->enqueue(nullptr, std::move(work));
      }
      break;
    default:
      break;
  }
  return device.enqueue(stream, std::move(work));
}

template <typename Args, void (*kRun)(const ProbePlan&, const Args&, unsigned char*)>
Status launch(const ProbePlan& plan, const Args& args, const LaunchFrame& frame) {
  const std::lock_guard lock(plan.mutex);  // saboteurs are wrong in one way each
  ++plan.calls;
  if (plan.is(Sabotage::kFailLaunch))
    return failed(StatusCode::kUnsupported, "probe: not after all");
  if (plan.is(Sabotage::kWarmupOnly) && plan.calls > kWarmupCalls) return {};
  if (plan.is(Sabotage::kLeaksHost)) plan.kept.emplace_back(4096);
  if (plan.is(Sabotage::kChangesDevice)) EmulatedDevice::make_current(plan.device);
  auto* const workspace = static_cast<unsigned char*>(frame.workspace);
  if (plan.device == nullptr) {
    kRun(plan, args, workspace);
    return {};
  }
  std::function<void()> work = [&plan, args, workspace] { kRun(plan, args, workspace); };
  if (plan.is(Sabotage::kKeepsArguments))
    work = [&plan, kept = &args, workspace] { kRun(plan, *kept, workspace); };
  if constexpr (std::is_same_v<Args, AffineArgs>) {
    if (plan.is(Sabotage::kGraphKeepsValues) && plan.device->is_capturing(frame.stream))
      work = [&plan, frozen = with_values(args), workspace] { kRun(plan, *frozen, workspace); };
  }
  return enqueue(plan, frame.stream, std::move(work));
}

}  // namespace

template <typename Args, void (*kRun)(const ProbePlan&, const Args&, unsigned char*)>
Implementation make_probe(bool reference, Sabotage sabotage, DeviceKind device) {
  ImplementationInfo info;
  info.solution = reference ? "reference" : "toy";
  info.device = reference ? DeviceKind::kCpu : device;
  info.name = std::string(device_kind_name(info.device)) + "." + info.solution + "." +
              Args::contract().operation;
  info.description = "for the self-test";
  info.deterministic = true;
  info.batch_invariant = true;
  info.explicit_only = reference;
  ImplementationFunctions f;
  f.supports = [](void* self, const Problem& problem, const Hardware&) -> std::optional<Rejection> {
    if (problem.dtype("T") == DType::kF64 && !static_cast<const ProbeSelf*>(self)->reference)
      return Rejection{Rejection::Code::kDType, "f64 is for the oracle"};
    return std::nullopt;
  };
  f.workspace = [](void* self, const Problem& problem) {
    WorkspaceSize size{kProbeWorkspaceBytes, kProbeZeroedBytes};
    if (static_cast<const ProbeSelf*>(self)->sabotage == Sabotage::kGrowingWorkspace)
      size.bytes += 64 * std::max<std::int64_t>(1000 - problem.rows(), 0);
    return size;
  };
  f.choose = [](void*, const Problem& problem, const Hardware&, const CfgPins&) {
    return Specialization{problem.variant_name(), std::make_shared<const int>(problem.variant)};
  };
  f.prepare = [](void* opaque, PrepareRequest& request) -> void* {
    auto* const self = static_cast<ProbeSelf*>(opaque);
    if (self->sabotage == Sabotage::kThrowPrepare)
      fail(Code::kUnsupported, "probe: cannot prepare this");
    auto plan = std::make_unique<ProbePlan>();
    plan->self = self;
    plan->two = request.problem.variant_name() == "two";
    plan->device = dynamic_cast<EmulatedDevice*>(&request.device);
    if (self->first_device == nullptr) self->first_device = plan->device;
    const bool beside =
        self->sabotage == Sabotage::kSideStream || self->sabotage == Sabotage::kEscapes;
    if (beside && plan->device != nullptr) plan->side = runtime::OwnedStream(*plan->device);
    return plan.release();
  };
  f.launch = [](const void* plan, const void* args, const LaunchFrame& frame) noexcept {
    try {
      return launch<Args, kRun>(*static_cast<const ProbePlan*>(plan),
                                *static_cast<const Args*>(args), frame);
    } catch (const std::exception& error) {
      return failed(StatusCode::kDevice, error.what());
    }
  };
  f.destroy = [](void* plan) noexcept { delete static_cast<ProbePlan*>(plan); };
  f.describe = [](const void*) { return PlanFacts{}; };
  // One per defect for the life of the process; implementations hold a bare pointer.
  static std::deque<ProbeSelf> selves;
  return Implementation{std::move(info), f,
                        &selves.emplace_back(ProbeSelf{reference, sabotage, nullptr})};
}

template Implementation make_probe<AffineArgs, run_affine>(bool, Sabotage, DeviceKind);
template Implementation make_probe<AffineBackwardArgs, run_affine_backward>(bool, Sabotage,
                                                                            DeviceKind);
template Implementation make_probe<GatherArgs, run_gather>(bool, Sabotage, DeviceKind);
template Implementation make_probe<UpdateArgs, run_update>(bool, Sabotage, DeviceKind);

}  // namespace kw::suite
