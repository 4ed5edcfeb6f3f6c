// SPDX-License-Identifier: Apache-2.0
// From a call of a probe to its work in a stream, with what is planted on that way: the same on
// every device.
#include <cstring>
#include <deque>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/suite/selftest/probe_kernels.hpp"

namespace kw::suite {
namespace {

constexpr int kWarmupCalls = 150;
constexpr std::int64_t kLeakedBytes = 1 << 20;

// Work of `after` from now on follows what `before` holds.
void join(runtime::Device& device, void* before, void* after) {
  const auto event = device.create_event();
  event->record(before);
  event->block(after);
}

// Of a captured call: the dense tensor becomes a copy of what it holds now. Eager calls before it
// made room.
void freeze(const ProbePlan& plan, kit::ProbeTensor& tensor, runtime::Buffer& frozen,
            bool capturing) {
  const std::int64_t bytes = tensor.count * kit::probe_bytes(plan.kernel.cfg.type);
  if (!capturing) {
    if (frozen.bytes() < bytes) frozen = runtime::Buffer(*plan.device, bytes);
    return;
  }
  plan.device->copy(frozen.data(), tensor.data, bytes, plan.side.handle());
  tensor.data = frozen.data();
}

// y becomes what it was when the key was first seen.
void remember(const ProbePlan& plan, const kit::ProbeArgs& args, void* stream) {
  const void* const address = plan.is(Sabotage::kMemoByAddress) ? args.x.data : nullptr;
  const auto [found, is_new] = plan.memo.try_emplace({address, args.result.count});
  const std::int64_t bytes = args.result.count * kit::probe_bytes(plan.kernel.cfg.type);
  runtime::Buffer& kept = found->second;
  if (is_new) kept = runtime::Buffer(*plan.device, bytes);
  if (is_new)
    plan.device->copy(kept.data(), args.result.data, bytes, stream);
  else
    plan.device->copy(args.result.data, kept.data(), bytes, stream);
}

// The kernel where and when it belongs, or not.
Status enqueue(const ProbePlan& plan, void* stream, kit::ProbeArgs args) {
  runtime::Device& device = *plan.device;
  void* const side = plan.side.handle();
  const bool capturing = device.is_capturing(stream);
  switch (plan.self->sabotage) {
    case Sabotage::kMemoByAddress:
    case Sabotage::kMemoByShape: {
      const Status status = plan.kernel.launch(args, stream);
      if (status) remember(plan, args, stream);
      return status;
    }
    case Sabotage::kLeaksDevice:
      if (!capturing) plan.buffers.emplace_back(device, kLeakedBytes);
      break;
    case Sabotage::kSideStream:
      stream = side;
      break;
    case Sabotage::kUnorderedStream: {
      const Status status = plan.kernel.launch(args, side);
      join(device, side, stream);
      return status;
    }
    case Sabotage::kDefaultStream:
      stream = nullptr;
      break;
    case Sabotage::kEscapes:
      join(device, stream, side);
      stream = side;
      break;
    case Sabotage::kDeferred: {
      const auto earlier = std::exchange(plan.deferred, args);
      if (!earlier) return {};
      args = *earlier;
      break;
    }
    case Sabotage::kSyncsHost:
      if (!capturing) device.synchronize(stream);
      break;
    case Sabotage::kSharedArguments:
      std::memcpy(plan.pinned.data(), &args, sizeof args);
      args.elsewhere = reinterpret_cast<const kit::ProbeArgs*>(plan.pinned.data());
      break;
    case Sabotage::kGraphDrops:
      if (capturing && plan.captured++ % 2 == 1) return {};
      break;
    case Sabotage::kCaptureEager:
      if (capturing) stream = side;
      break;
    case Sabotage::kCaptureAllocates:
      if (capturing) plan.buffers.emplace_back(device, 64);
      break;
    case Sabotage::kGraphKeepsValues:
      freeze(plan, args.x, plan.frozen_x, capturing);
      freeze(plan, args.factor, plan.frozen_factor, capturing);
      break;
    case Sabotage::kGraphRunsOnce:
      if (capturing) args.runs = reinterpret_cast<int*>(plan.counter.data());
      break;
    case Sabotage::kLazyAllocates:
      if (plan.buffers.empty()) plan.buffers.emplace_back(device, 64);
      break;
    case Sabotage::kFirstDevice:
      if (&device != plan.self->first->device) {
        device.synchronize(stream);
        return plan.self->first->kernel.launch(args, nullptr);
      }
      break;
    default:
      break;
  }
  return plan.kernel.launch(args, stream);
}

template <typename Args>
Status launch(const ProbePlan& plan, const Args& args, const LaunchFrame& frame) {
  const std::lock_guard lock(plan.mutex);  // saboteurs are wrong in one way each
  ++plan.calls;
  if (plan.is(Sabotage::kFailLaunch))
    return failed(StatusCode::kUnsupported, "probe: not after all");
  if (plan.is(Sabotage::kWarmupOnly) && plan.calls > kWarmupCalls) return {};
  if (plan.is(Sabotage::kLeaksHost)) plan.kept.emplace_back(4096);
  if (plan.is(Sabotage::kChangesDevice)) EmulatedDevice::make_current(plan.kernel.emulated);
  kit::ProbeArgs given = probe_args(args);
  given.workspace = static_cast<unsigned char*>(frame.workspace);
  given.calls = plan.calls;
  if (plan.is(Sabotage::kKeepsArguments) && plan.kernel.emulated != nullptr) {
    return plan.kernel.emulated->enqueue(frame.stream,
                                         [cfg = plan.kernel.cfg, kept = &args, given] {
                                           kit::ProbeArgs late = probe_args(*kept);
                                           late.workspace = given.workspace;
                                           late.calls = given.calls;
                                           run_probe_on_host(cfg, late);
                                         });
  }
  if (plan.device == nullptr) return plan.kernel.launch(given, frame.stream);
  return enqueue(plan, frame.stream, given);
}

ProbePlan* prepare(ProbeSelf& self, const PrepareRequest& request) {
  if (self.sabotage == Sabotage::kThrowPrepare)
    fail(Code::kUnsupported, "probe: cannot prepare this");
  auto plan = std::make_unique<ProbePlan>();
  plan->self = &self;
  kit::ProbeCfg& cfg = plan->kernel.cfg;
  cfg.operation = self.operation;
  cfg.type = fill_type(request.problem.dtype("T"));
  cfg.two = request.problem.variant_name() == "two";
  cfg.exact = self.reference;
  if (kit::is_in_kernel(self.sabotage)) cfg.sabotage = self.sabotage;
  if (self.first == nullptr) self.first = plan.get();
  auto* const device = dynamic_cast<runtime::Device*>(&request.device);
  plan->device = device;
  if (device == nullptr) return plan.release();
  plan->kernel.emulated = dynamic_cast<EmulatedDevice*>(device);
  const ProbeToolchain& toolchain = self.toolchain;
  if (toolchain.compiler != nullptr && device->hardware().kind == DeviceKind::kCuda) {
    jit::Session& session =
        toolchain.session == nullptr ? jit::Session::process() : *toolchain.session;
    plan->kernel.device =
        session.prepare(*toolchain.compiler, probe_unit(cfg, toolchain.arch), *device);
  }
  if (device->is_asynchronous()) plan->side = runtime::OwnedStream(*device);
  plan->pinned = runtime::Buffer(*device, sizeof(kit::ProbeArgs), runtime::MemoryKind::kHostPinned);
  plan->counter = runtime::Buffer(*device, sizeof(int));
  device->fill(plan->counter.data(), 0, plan->counter.bytes(), nullptr);
  device->synchronize(nullptr);
  return plan.release();
}

}  // namespace

template <typename Args>
Implementation make_probe(kit::ProbeOperation operation, bool reference, Sabotage sabotage,
                          DeviceKind device, const ProbeToolchain& toolchain) {
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
    WorkspaceSize size{kit::kProbeWorkspaceBytes, kit::kProbeZeroedBytes};
    if (static_cast<const ProbeSelf*>(self)->sabotage == Sabotage::kGrowingWorkspace)
      size.bytes += 64 * std::max<std::int64_t>(1000 - problem.rows(), 0);
    return size;
  };
  f.choose = [](void*, const Problem& problem, const Hardware&, const CfgPins&) {
    const std::string text =
        problem.variant_name() + " " + std::string(dtype_name(problem.dtype("T")));
    return Specialization{text, std::make_shared<const int>(problem.variant)};
  };
  f.prepare = [](void* self, PrepareRequest& request) -> void* {
    return prepare(*static_cast<ProbeSelf*>(self), request);
  };
  f.launch = [](const void* plan, const void* args, const LaunchFrame& frame) noexcept {
    try {
      return launch(*static_cast<const ProbePlan*>(plan), *static_cast<const Args*>(args), frame);
    } catch (const std::exception& error) {
      return failed(StatusCode::kDevice, error.what());
    }
  };
  f.destroy = [](void* opaque) noexcept {
    auto* const plan = static_cast<ProbePlan*>(opaque);
    if (plan->self->first == plan) plan->self->first = nullptr;
    delete plan;
  };
  f.describe = [](const void*) { return PlanFacts{}; };
  // One per defect for the life of the process; implementations hold a bare pointer.
  static std::deque<ProbeSelf> selves;
  return Implementation{std::move(info), f,
                        &selves.emplace_back(ProbeSelf{operation, reference, sabotage, toolchain})};
}

template Implementation make_probe<AffineArgs>(kit::ProbeOperation, bool, Sabotage, DeviceKind,
                                               const ProbeToolchain&);
template Implementation make_probe<AffineBackwardArgs>(kit::ProbeOperation, bool, Sabotage,
                                                       DeviceKind, const ProbeToolchain&);
template Implementation make_probe<GatherArgs>(kit::ProbeOperation, bool, Sabotage, DeviceKind,
                                               const ProbeToolchain&);
template Implementation make_probe<UpdateArgs>(kit::ProbeOperation, bool, Sabotage, DeviceKind,
                                               const ProbeToolchain&);

}  // namespace kw::suite
