// SPDX-License-Identifier: Apache-2.0
#include "core/support/toy_operations.hpp"

#include <atomic>

namespace kw::toy {
namespace {

struct NoCfg {};
std::string cfg_text(const NoCfg&) { return "{}"; }

std::atomic<int> prepared_scales{0};

// Completes an implementation from `compute`; the rest is the plain case.
template <typename ArgsType, auto kCompute>
struct Plain {
  using Args = ArgsType;
  using Cfg = NoCfg;
  using Plan = NoCfg;
  static std::optional<Rejection> supports(const Problem&, const Hardware&) { return std::nullopt; }
  static WorkspaceSize workspace(const Problem&) { return {}; }
  static Cfg choose(const Problem&, const Hardware&, const CfgPins&) { return {}; }
  static std::unique_ptr<Plan> prepare(const Cfg&, PrepareRequest&) {
    if constexpr (std::is_same_v<Args, ScaleArgs>) ++prepared_scales;
    return std::make_unique<Plan>();
  }
  static Status launch(const Plan&, const Args& args, const LaunchFrame& frame) noexcept {
    kCompute(args, frame);
    return {};
  }
  static PlanFacts describe(const Plan&) { return {}; }
};

float* floats(const TensorView& view) { return static_cast<float*>(view.data); }

void sum_list(const SumListArgs& args, const LaunchFrame&) noexcept {
  const std::int64_t columns = args.total.sizes[0];
  for (std::int64_t c = 0; c < columns; ++c) floats(args.total)[c] = 0;
  for (std::int64_t i = 0; i < args.parts.size; ++i) {
    const TensorView& part = args.parts.data[i];
    for (std::int64_t j = 0; j < part.numel(); ++j) {
      floats(args.total)[j % columns] += floats(part)[j];
      floats(args.scaled.data[i])[j] = static_cast<float>(args.factor) * floats(part)[j];
    }
  }
}

void push(const PushArgs& args, const LaunchFrame&) noexcept {
  const std::int64_t width = args.cache.sizes[1];
  for (std::int64_t b = 0; b < args.x.sizes[0]; ++b) {
    float* row = floats(args.cache) + b * width;
    floats(args.popped)[b] = row[0];
    for (std::int64_t s = 0; s + 1 < width; ++s) row[s] = row[s + 1];
    row[width - 1] = floats(args.x)[b];
  }
}

void scale(const ScaleArgs& args, const LaunchFrame&) noexcept {
  for (std::int64_t i = 0; i < args.x.numel(); ++i)
    floats(args.y)[i] = static_cast<float>(args.scale) * floats(args.x)[i];
}

void shift(const ShiftArgs& args, const LaunchFrame&) noexcept {
  for (std::int64_t i = 0; i < args.x.numel(); ++i)
    floats(args.y)[i] = floats(args.x)[i] + static_cast<float>(args.shift);
}

// Rows of at most 64, to have something that rejects.
struct Narrow : Plain<ScaleArgs, scale> {
  static std::optional<Rejection> supports(const Problem& problem, const Hardware&) {
    if (problem.size("C") <= 64) return std::nullopt;
    return Rejection{Rejection::Code::kShape,
                     "C = " + std::to_string(problem.size("C")) + " is above 64"};
  }
};

// Needs scratch that it leaves zero.
struct Scratch : Plain<ScaleArgs, scale> {
  static WorkspaceSize workspace(const Problem& problem) {
    return {4 * std::max<std::int64_t>(problem.rows(), 0) + 64, 64};
  }
  static Status launch(const Plan&, const ScaleArgs& args, const LaunchFrame& frame) noexcept {
    if (frame.workspace == nullptr) return failed(StatusCode::kInternal, "scratch: no workspace");
    scale(args, frame);
    return {};
  }
};

struct Composed {
  using Args = AffineArgs;
  using Cfg = NoCfg;
  struct Plan {
    PreparedPart* scale;
    PreparedPart* shift;
  };
  static std::optional<Rejection> supports(const Problem&, const Hardware&) { return std::nullopt; }
  static WorkspaceSize workspace(const Problem&) { return {}; }
  static Cfg choose(const Problem&, const Hardware&, const CfgPins&) { return {}; }
  static std::unique_ptr<Plan> prepare(const Cfg&, PrepareRequest& request) {
    return std::make_unique<Plan>(Plan{request.parts[0].get(), request.parts[1].get()});
  }
  static Status launch(const Plan& plan, const Args& args, const LaunchFrame& frame) noexcept {
    const ScaleArgs first{args.x, args.y, args.scale};
    if (const Status status = plan.scale->launch(&first, frame); !status) return status;
    const ShiftArgs second{args.y, args.y, args.shift};
    return plan.shift->launch(&second, frame);
  }
  static PlanFacts describe(const Plan& plan) {
    return {{"scale", plan.scale->implementation()}, {"shift", plan.shift->implementation()}};
  }

  static std::vector<Problem> parts(const Problem& whole, const ContractSource& contracts) {
    std::vector<Problem> list;
    for (const char* operation : {"scale", "shift"}) {
      Problem part = make_problem(*contracts.find_contract(operation), "standard");
      part.value("x").tensor = whole.tensor("x");
      check(part);
      list.push_back(std::move(part));
    }
    return list;
  }
};

ImplementationInfo info(const char* name, const char* solution, const char* description) {
  ImplementationInfo info;
  info.name = name;
  info.solution = solution;
  info.description = description;
  return info;
}

ImplementationInfo cuda_info(const char* name, const char* solution, int capability) {
  ImplementationInfo result = info(name, solution, "for a fake device");
  result.device = DeviceKind::kCuda;
  result.min_capability = capability;
  return result;
}

void rows_of(Recorder& v) { v.symbol("C", Variability::kStatic, 1, 65536, "columns"); }

template <typename Args>
Contract plain_contract(const char* operation) {
  return make_contract<Args>(
      {.operation = operation,
       .summary = "a test operation",
       .version = 1,
       .variants = {{"standard", "the only one", ToleranceClass::kOneRounding}},
       .numerical_mode = "f32",
       .backward = {},
       .field = {},
       .constrain = nullptr,
       .flops = nullptr,
       .bytes = nullptr});
}

}  // namespace

void SumListArgs::visit(Recorder& v) {
  rows_of(v);
  v.input("parts", parts, "[*, C]", "T: f32|bf16", "what is summed");
  v.output("total", total, "[C]", "T", "column sums");
  v.output("scaled", scaled, "[*, C]", "T", "factor times each part");
  v.output("peak", peak, "[2*C+1]", "f32", "an optional output of composite shape").optional();
  v.scalar("factor", factor, "multiplies each part").range(-1e6, 1e6);
  v.scalar("bias", bias, "defaults from the shape").defaults_to([](const Problem& p) {
    return 1.0 / static_cast<double>(p.size("C"));
  });
}

const Contract& SumListArgs::contract() {
  static const Contract kContract = plain_contract<SumListArgs>("sum_list");
  return kContract;
}

void PushArgs::visit(Recorder& v) {
  v.symbol("B", Variability::kDynamic, 0, 1 << 20, "sequences");
  v.symbol("S", Variability::kStatic, 1, 64, "kept positions");
  v.input("x", x, "[B]", "T: f32", "appended");
  v.mutated("cache", cache, "[B, S+1]", "T", "shifted left by one");
  v.output("popped", popped, "[B]", "T", "what fell out");
  v.choice("order", order, {"fifo", "lifo"}, "which end is popped");
  v.scalar("times", times, "how often").range(1, 8);
}

const Contract& PushArgs::contract() {
  static const Contract kContract = make_contract<PushArgs>(
      {.operation = "push",
       .summary = "a test operation with state",
       .version = 1,
       .variants = {{"standard", "append", ToleranceClass::kMovement},
                    {"strict", "append, S even", ToleranceClass::kMovement}},
       .numerical_mode = "f32",
       .backward = {},
       .field = {.name = "push_backend",
                 .aliases = {},
                 .value_prefix = {},
                 .deprecated_values = {},
                 .variant_names = {}},
       .constrain = [](const Problem& p) -> std::optional<std::string> {
         if (p.variant_name() != "strict" || p.size("S") % 2 == 0) return std::nullopt;
         return "S = " + std::to_string(p.size("S")) + " must be even";
       },
       .flops = nullptr,
       .bytes = nullptr});
  return kContract;
}

void ScaleArgs::visit(Recorder& v) {
  rows_of(v);
  v.input("x", x, "[*, C]", "T: f32", "rows");
  v.output("y", y, "[*, C]", "T", "scaled rows");
  v.scalar("scale", scale, "multiplies").range(-1e30, 1e30);
}
const Contract& ScaleArgs::contract() {
  static const Contract kContract = plain_contract<ScaleArgs>("scale");
  return kContract;
}

void ShiftArgs::visit(Recorder& v) {
  rows_of(v);
  v.input("x", x, "[*, C]", "T: f32", "rows");
  v.output("y", y, "[*, C]", "T", "shifted rows").may_alias("x");
  v.scalar("shift", shift, "is added").range(-1e30, 1e30);
}
const Contract& ShiftArgs::contract() {
  static const Contract kContract = plain_contract<ShiftArgs>("shift");
  return kContract;
}

void AffineArgs::visit(Recorder& v) {
  rows_of(v);
  v.input("x", x, "[*, C]", "T: f32", "rows");
  v.output("y", y, "[*, C]", "T", "affine rows");
  v.scalar("scale", scale, "multiplies").range(-1e30, 1e30);
  v.scalar("shift", shift, "is added").range(-1e30, 1e30);
}
const Contract& AffineArgs::contract() {
  static const Contract kContract = plain_contract<AffineArgs>("affine");
  return kContract;
}

std::unique_ptr<Catalog> make_catalog() {
  auto catalog = std::make_unique<Catalog>();
  catalog->add({&SumListArgs::contract(),
                {make_implementation<Plain<SumListArgs, sum_list>>(
                    info("cpu.plain.sum_list", "plain", "loops"))}});
  ImplementationInfo only_standard = info("cpu.standard_only.push", "standard_only", "one variant");
  only_standard.variants = {"standard"};
  catalog->add(
      {&PushArgs::contract(),
       {make_implementation<Plain<PushArgs, push>>(cuda_info("cuda.fast.push", "fast", 90)),
        make_implementation<Plain<PushArgs, push>>(cuda_info("cuda.slow.push", "slow", 80)),
        make_implementation<Plain<PushArgs, push>>(std::move(only_standard)),
        make_implementation<Plain<PushArgs, push>>(info("cpu.plain.push", "plain", "loops"))}});
  ImplementationInfo oracle = info("cpu.oracle.scale", "oracle", "bound only when named");
  oracle.explicit_only = true;
  catalog->add(
      {&ScaleArgs::contract(),
       {make_implementation<Narrow>(info("cpu.narrow.scale", "narrow", "C <= 64")),
        make_implementation<Plain<ScaleArgs, scale>>(info("cpu.plain.scale", "plain", "loops")),
        make_implementation<Scratch>(info("cpu.scratch.scale", "scratch", "needs workspace")),
        make_implementation<Plain<ScaleArgs, scale>>(std::move(oracle)),
        make_implementation<Scratch>(cuda_info("cuda.scratch.scale", "scratch", 80))}});
  catalog->add(
      {&ShiftArgs::contract(),
       {make_implementation<Plain<ShiftArgs, shift>>(info("cpu.plain.shift", "plain", "loops"))}});
  ImplementationInfo composed = info("cpu.composed.affine", "composed", "scale, then shift");
  composed.parts = Composed::parts;
  catalog->add({&AffineArgs::contract(), {make_implementation<Composed>(std::move(composed))}});
  return catalog;
}

int scale_prepares() { return prepared_scales.load(); }

}  // namespace kw::toy
