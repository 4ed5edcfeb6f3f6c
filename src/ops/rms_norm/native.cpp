// SPDX-License-Identifier: Apache-2.0
// cpu.native.rms_norm and cpu.native.rms_norm_backward: domain, choice of kernel, launch.
#include <memory>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/jit/fields.hpp"
#include "kernelwright/ops/rms_norm/cfg.hpp"
#include "kernelwright/ops/rms_norm/contract.hpp"
#include "kernelwright/ops/rms_norm/native_kernels.hpp"

namespace kw::ops::rms_norm {

static std::string cfg_text(const NativeCfg& cfg) { return jit::cfg_text(cfg); }  // found by ADL

namespace {

constexpr int kCapabilityAvx512 = 3;  // Hardware::capability

// Everything of the contract but f64, which only oracles use, and a pitched rstd.
std::optional<Rejection> supports(const Problem& problem, const Hardware&) {
  if (problem.dtype("T") == DType::kF64) {
    return Rejection{Rejection::Code::kDType, "computes in f32; it does not take f64"};
  }
  if (problem.has("rstd") && !problem.tensor("rstd").contiguous) {
    return Rejection{Rejection::Code::kLayout, "rstd must be contiguous"};
  }
  return std::nullopt;
}

NativeCfg choose(const Problem& problem, const Hardware& hardware, const CfgPins& pins) {
  NativeCfg cfg;
  cfg.variant = static_cast<Variant>(problem.variant);
  cfg.element = kit::element_of(problem.dtype("T"));
  cfg.weight = problem.has("weight") ? kit::element_of(problem.dtype("W")) : cfg.element;
  cfg.isa = hardware.capability >= kCapabilityAvx512 ? Isa::kAvx512 : Isa::kAvx2;
  cfg.threads = hardware.units;
  const NativeCfg chosen = cfg;
  jit::apply_pins(cfg, pins);
  if (cfg.variant != chosen.variant || cfg.element != chosen.element ||
      cfg.weight != chosen.weight) {
    fail(Code::kInvalidArgument,
         "--cfg: variant, element and weight follow from the problem ({}) and cannot be pinned",
         jit::cfg_text(chosen));
  }
  if (cfg.isa == Isa::kAvx512 && hardware.capability < kCapabilityAvx512) {
    fail(Code::kUnsupported, "--cfg isa=avx512: this device has {}",
         capability_text(DeviceKind::kCpu, hardware.capability));
  }
  if (cfg.threads < 1)
    fail(Code::kInvalidArgument, "--cfg threads={}: at least 1 is needed", cfg.threads);
  return cfg;
}

// What forward and backward share.
struct Native {
  using Cfg = NativeCfg;
  using Plan = NativeCfg;
  static std::optional<Rejection> supports(const Problem& problem, const Hardware& hardware) {
    return rms_norm::supports(problem, hardware);
  }
  static Cfg choose(const Problem& problem, const Hardware& hardware, const CfgPins& pins) {
    return rms_norm::choose(problem, hardware, pins);
  }
  static std::unique_ptr<Plan> prepare(const Cfg& cfg, PrepareRequest&) {
    return std::make_unique<Plan>(cfg);
  }
  static PlanFacts describe(const Plan& plan) { return {{"cfg", jit::cfg_text(plan)}}; }
};

struct Forward : Native {
  using Args = rms_norm::Args;
  static WorkspaceSize workspace(const Problem&) { return {}; }
  static Status launch(const Plan& plan, const Args& args, const LaunchFrame&) noexcept {
    native::forward(plan.isa, {.x = args.x,
                               .weight = args.weight,
                               .y = args.y,
                               .rstd = args.rstd,
                               .eps = static_cast<float>(args.eps),
                               .variant = plan.variant,
                               .threads = plan.threads});
    return {};
  }
};

struct Backward : Native {
  using Args = BackwardArgs;
  static WorkspaceSize workspace(const Problem& problem) {
    if (!problem.has("dweight") || problem.rows() == kFreeDim) return {};
    return {native::backward_workspace_bytes(problem.rows(), problem.size("C")), 0};
  }
  static Status launch(const Plan& plan, const Args& args, const LaunchFrame& frame) noexcept {
    native::backward(plan.isa, {.dy = args.dy,
                                .x = args.x,
                                .weight = args.weight,
                                .rstd = args.rstd,
                                .dx = args.dx,
                                .dweight = args.dweight,
                                .eps = static_cast<float>(args.eps),
                                .variant = plan.variant,
                                .threads = plan.threads,
                                .workspace = frame.workspace});
    return {};
  }
};

ImplementationInfo info(const char* operation) {
  ImplementationInfo info;
  info.name = std::string("cpu.native.") + operation;
  info.description = "AVX2 or AVX-512, f32 arithmetic, any layout";
  info.solution = "native";
  info.min_capability = 2;
  info.graph_mode = false;
  info.batch_invariant = true;
  return info;
}

}  // namespace

Implementation native_forward() { return make_implementation<Forward>(info("rms_norm")); }
Implementation native_backward() {
  return make_implementation<Backward>(info("rms_norm_backward"));
}

}  // namespace kw::ops::rms_norm
