// SPDX-License-Identifier: Apache-2.0
#include "tune/support/toy.hpp"

#include <memory>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/suite/element.hpp"
#include "support/fake_device.hpp"

namespace kw::test {

static std::string cfg_text(const ToyCfg& cfg) { return jit::cfg_text(cfg); }

namespace {

constexpr const char* kBuckets[] = {"few", "many"};

void triple(const ToyArgs& args, const ToyCfg* wrong, std::int64_t wrong_from) {
  std::vector<double> y = suite::read_elements(args.x);
  for (double& value : y) value *= 3;
  const auto begin = static_cast<std::size_t>(wrong_from * (wrong == nullptr ? 0 : wrong->width));
  if (wrong != nullptr) {
    for (std::size_t i = begin; i < y.size(); ++i) y[i] += 1;
  }
  suite::write_elements(args.y, y);
}

struct ToyPlan {
  ToyCfg cfg;
  FakeDevice* device = nullptr;
};

struct ToyKernel {
  using Args = ToyArgs;
  using Cfg = ToyCfg;
  using Plan = ToyPlan;

  static std::optional<Rejection> supports(const Problem& problem, const Hardware&) {
    if (problem.dtype("T") == DType::kF64)
      return Rejection{Rejection::Code::kDType, "f64 is for the oracle"};
    return std::nullopt;
  }
  static WorkspaceSize workspace(const Problem&) { return {64, 0}; }
  static Cfg choose(const Problem& problem, const Hardware&, const CfgPins& pins) {
    Cfg cfg;
    cfg.width = static_cast<int>(problem.size("C"));
    cfg.wide = cfg.width >= 64;
    jit::apply_pins(cfg, pins);
    if (cfg.threads % 32 != 0) fail(Code::kInvalidArgument, "threads: whole warps");
    if (cfg.unroll > 8) fail(Code::kUnsupported, "unroll is 1 to 8");
    return cfg;
  }
  static std::unique_ptr<Plan> prepare(const Cfg& cfg, PrepareRequest& request) {
    if (toy_behaviour().refused(cfg)) fail(Code::kInternal, "toy: the compiler refuses this");
    return std::make_unique<Plan>(Plan{cfg, dynamic_cast<FakeDevice*>(&request.device)});
  }
  static Status launch(const Plan& plan, const Args& args, const LaunchFrame& frame) noexcept {
    const ToyBehaviour& behaviour = toy_behaviour();
    const bool wrong = behaviour.wrong(plan.cfg);
    // What is replayed is timed, not judged.
    const bool idle = plan.device->is_capturing(frame.stream);
    const auto work = [args, idle, wrong, cfg = plan.cfg, from = behaviour.wrong_from] {
      if (!idle) triple(args, wrong ? &cfg : nullptr, from);
    };
    return plan.device->enqueue(frame.stream, work, behaviour.time(plan.cfg, args.x.sizes[0]));
  }
  static PlanFacts describe(const Plan& plan) { return jit::describe_cfg(plan.cfg); }
};

struct ToyReference : ToyKernel {
  static std::optional<Rejection> supports(const Problem&, const Hardware&) { return std::nullopt; }
  static WorkspaceSize workspace(const Problem&) { return {}; }
  static Cfg choose(const Problem&, const Hardware&, const CfgPins&) { return {}; }
  static std::unique_ptr<Plan> prepare(const Cfg& cfg, PrepareRequest&) {
    return std::make_unique<Plan>(Plan{cfg, nullptr});
  }
  static Status launch(const Plan&, const Args& args, const LaunchFrame&) noexcept {
    triple(args, nullptr, 0);
    return {};
  }
};

ImplementationInfo info_of(const char* name, const char* solution, DeviceKind device) {
  ImplementationInfo info;
  info.name = name;
  info.description = "for tests";
  info.solution = solution;
  info.device = device;
  return info;
}

tune::Geometry describe(const Problem& problem, const Hardware& hardware, const CfgPins& pins) {
  const ToyCfg cfg = ToyKernel::choose(problem, hardware, pins);
  return tune::geometry_of(cfg, kBuckets[problem.rows() < 100 ? 0 : 1],
                           {cfg.threads, 0, cfg.unroll, cfg.unroll});
}

}  // namespace

void ToyArgs::visit(Recorder& v) {
  v.symbol("C", Variability::kStatic, 1, 4096, "columns");
  v.input("x", x, "[*, C]", "T: f32|f64", "rows");
  v.output("y", y, "[*, C]", "T", "three times x");
}

const Contract& ToyArgs::contract() {
  static const Contract kContract =
      make_contract<ToyArgs>({.operation = "toy",
                              .summary = "for tests",
                              .version = 1,
                              .variants = {{"plain", "one rounding", ToleranceClass::kOneRounding}},
                              .numerical_mode = "f32",
                              .backward = {},
                              .field = {},
                              .constrain = nullptr,
                              .flops = nullptr,
                              .bytes = nullptr});
  return kContract;
}

ToyBehaviour& toy_behaviour() {
  static ToyBehaviour behaviour;
  return behaviour;
}

void add_toy(Catalog& catalog) {
  toy_behaviour() = {};
  ImplementationInfo reference = info_of("cpu.reference.toy", "reference", DeviceKind::kCpu);
  reference.explicit_only = true;
  catalog.add({&ToyArgs::contract(),
               {make_implementation<ToyKernel>(info_of("cuda.jit.toy", "jit", DeviceKind::kCuda)),
                make_implementation<ToyReference>(reference)}});
}

tune::SearchSpec toy_search() {
  return {"cuda.jit.toy",
          {"width"},
          {{{"threads", {"32", "48", "64", "128"}}}, {{"unroll", {"1", "4", "16"}}}},
          describe};
}

}  // namespace kw::test
