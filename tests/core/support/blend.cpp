// SPDX-License-Identifier: Apache-2.0
#include "core/support/blend.hpp"

#include <algorithm>
#include <cstring>

#include "core/support/toy_operations.hpp"

namespace kw::toy {
namespace {

struct NoCfg {};
std::string cfg_text(const NoCfg&) { return "{}"; }

template <typename ArgsType>
struct Simple {
  using Args = ArgsType;
  using Cfg = NoCfg;
  using Plan = NoCfg;
  static std::optional<Rejection> supports(const Problem&, const Hardware&) { return std::nullopt; }
  static WorkspaceSize workspace(const Problem&) { return {}; }
  static Cfg choose(const Problem&, const Hardware&, const CfgPins&) { return {}; }
  static std::unique_ptr<Plan> prepare(const Cfg&, PrepareRequest&) {
    return std::make_unique<Plan>();
  }
  static PlanFacts describe(const Plan&) { return {}; }
};

struct PlainBlend : Simple<BlendArgs> {
  static Status launch(const Plan&, const Args&, const LaunchFrame&) noexcept { return {}; }
};

Status bad_workspace(const char* what) { return failed(kBadWorkspace, what); }

struct Careful : Simple<ScaleArgs> {
  static constexpr std::int64_t kZeroed = 192;
  static WorkspaceSize workspace(const Problem& p) { return {kZeroed + 4 * p.size("C"), kZeroed}; }
  static Status launch(const Plan&, const Args& args, const LaunchFrame& frame) noexcept {
    auto* memory = static_cast<unsigned char*>(frame.workspace);
    if (memory == nullptr) return bad_workspace("careful: no workspace");
    if (reinterpret_cast<std::uintptr_t>(memory) % kWorkspaceAlignment != 0)
      return bad_workspace("careful: misaligned");
    if (std::any_of(memory, memory + kZeroed, [](unsigned char c) { return c != 0; }))
      return bad_workspace("careful: not zero");
    const std::int64_t columns = args.x.sizes[static_cast<std::size_t>(args.x.rank - 1)];
    // Uses what it has, and leaves the promise: counters zero, scratch dirty.
    std::memset(memory, 0x5A, static_cast<std::size_t>(kZeroed + 4 * columns));
    for (std::int64_t i = 0; i < args.x.numel(); ++i) {
      static_cast<float*>(args.y.data)[i] =
          static_cast<float>(args.scale) * static_cast<const float*>(args.x.data)[i];
    }
    std::memset(memory, 0, kZeroed);
    return {};
  }
};

Problem part_of(const Problem& whole, const ContractSource& contracts, const char* operation) {
  Problem part = make_problem(*contracts.find_contract(operation), "standard");
  part.value("x").tensor = whole.tensor("x");
  check(part);
  return part;
}

struct PartsPlan {
  std::vector<const PreparedPart*> parts;
};

template <typename ArgsType>
struct Composite : Simple<ArgsType> {
  using Plan = PartsPlan;
  static std::unique_ptr<Plan> prepare(const NoCfg&, PrepareRequest& request) {
    auto plan = std::make_unique<Plan>();
    for (const auto& part : request.parts) plan->parts.push_back(part.get());
    return plan;
  }
  static PlanFacts describe(const Plan& plan) {
    PlanFacts facts;
    for (const PreparedPart* part : plan.parts)
      facts.emplace_back(part->contract().operation, part->implementation());
    return facts;
  }
};

// Keeps a mark in its own scratch across its parts, which must not reach it.
struct Buffered : Composite<AffineArgs> {
  static constexpr std::int64_t kOwn = 100;
  static WorkspaceSize workspace(const Problem&) { return {kOwn, 0}; }
  static Status launch(const Plan& plan, const Args& args, const LaunchFrame& frame) noexcept {
    auto* mark = static_cast<unsigned char*>(frame.workspace);
    if (mark == nullptr) return bad_workspace("buffered: no workspace");
    std::memset(mark, 0x3C, kOwn);
    const ScaleArgs first{args.x, args.y, args.scale};
    if (const Status status = plan.parts[0]->launch(&first, frame); !status) return status;
    const ShiftArgs second{args.y, args.y, args.shift};
    if (const Status status = plan.parts[1]->launch(&second, frame); !status) return status;
    if (std::any_of(mark, mark + kOwn, [](unsigned char c) { return c != 0x3C; }))
      return bad_workspace("buffered: a part wrote over it");
    return {};
  }
  static std::vector<Problem> parts(const Problem& whole, const ContractSource& contracts) {
    return {part_of(whole, contracts, "scale"), part_of(whole, contracts, "shift")};
  }
};

struct Greedy : Buffered {
  static WorkspaceSize workspace(const Problem&) { return {128, 64}; }
};

// scale as affine with shift 0.
struct Nested : Composite<ScaleArgs> {
  static WorkspaceSize workspace(const Problem&) { return {32, 0}; }
  static Status launch(const Plan& plan, const Args& args, const LaunchFrame& frame) noexcept {
    std::memset(frame.workspace, 0x77, 32);
    const AffineArgs whole{args.x, args.y, args.scale, 0};
    return plan.parts[0]->launch(&whole, frame);
  }
  static std::vector<Problem> parts(const Problem& whole, const ContractSource& contracts) {
    return {part_of(whole, contracts, "affine")};
  }
};

struct Cyclic : Composite<ScaleArgs> {
  static Status launch(const Plan& plan, const Args& args, const LaunchFrame& frame) noexcept {
    return plan.parts[0]->launch(&args, frame);
  }
  static std::vector<Problem> parts(const Problem& whole, const ContractSource& contracts) {
    return {part_of(whole, contracts, "scale")};
  }
};

template <typename Kernel>
Implementation named(const std::string& solution, const std::string& operation) {
  ImplementationInfo info;
  info.name = "cpu." + solution + "." + operation;
  info.solution = solution;
  info.description = "a watchful test entry";
  info.explicit_only = true;
  if constexpr (requires { Kernel::parts; }) info.parts = Kernel::parts;
  return make_implementation<Kernel>(std::move(info));
}

}  // namespace

void BlendArgs::visit(Recorder& v) {
  v.symbol("C", Variability::kStatic, 1, 4096, "columns");
  v.symbol("K", Variability::kDynamic, 0, 1000, "kept");
  v.input("x", x, "[*, C]", "T: bf16|f16|f32", "rows").differentiable();
  v.input("weight", weight, "[C]", "W: T|f32", "scale of columns").only_in({"weighted"});
  v.input("label", label, "[*]", "i32|i64", "class of each row").optional().filled_with("label");
  v.input("table", table, "[K*G, 2*C+1]", "acc(T)", "of composite shape").optional();
  v.output("y", y, "[*, C]", "T|f32", "blended rows");
  v.output("low", low, "[*]", "acc(T)", "least of each row").group("bounds");
  v.output("high", high, "[*]", "acc(T)", "greatest of each row").group("bounds");
  v.output("rstd", rstd, "[*]", "acc(T)", "for the backward").saved();
  v.scalar("eps", eps, "small").range(0, 1);
  v.scalar("gain", gain, "multiplies").range(-100, 100).defaults_to([](const Problem& p) {
    return 1.0 / static_cast<double>(p.size("C"));
  });
  v.scalar("window", window, "kept rows").range(1, 1 << 20).static_value();
  v.scalar("G", G, "groups of the table").range(1, 16);
  v.scalar("sharpness", sharpness, "enters the specialization").range(0, 1e9).static_value();
  v.scalar("flip", flip, "reverses");
  v.choice("edge", edge, {"wrap", "clamp", "zero"}, "what lies outside");
}

void* at(std::int64_t offset) { return reinterpret_cast<void*>(std::int64_t{0x1000000} + offset); }

BlendArgs small_blend() {
  BlendArgs args;
  args.x = TensorView(at(0), DType::kBF16, {3, 8});
  args.weight = TensorView(at(0x1000), DType::kBF16, {8});
  args.y = TensorView(at(0x2000), DType::kBF16, {3, 8});
  args.G = 2;
  return args;
}

const Contract& BlendArgs::contract() {
  static const Contract kContract = make_contract<BlendArgs>(
      {.operation = "blend",
       .summary = "a test operation with everything",
       .version = 3,
       .variants = {{"weighted", "with weight", ToleranceClass::kTwoRoundings},
                    {"bare", "without", ToleranceClass::kOneRounding}},
       .numerical_mode = "f32",
       .backward = {},
       .field = {},
       .constrain = [](const Problem& p) -> std::optional<std::string> {
         if (!p.has("window") || p.number("flip") == 0) return std::nullopt;
         return "window and flip exclude each other; leave one out";
       },
       .flops = [](const Problem& p) { return 3.0 * static_cast<double>(p.rows()); },
       .bytes = nullptr});
  return kContract;
}

Implementation plain_blend() {
  Implementation result = named<PlainBlend>("plain", "blend");
  result.info.explicit_only = false;
  return result;
}

std::unique_ptr<Catalog> make_full_catalog() {
  auto catalog = make_catalog();
  catalog->add({&BlendArgs::contract(), {plain_blend()}});
  return catalog;
}

void register_watchful(Catalog& catalog) {
  catalog.register_implementation("scale", named<Careful>("careful", "scale"));
  catalog.register_implementation("scale", named<Nested>("nested", "scale"));
  catalog.register_implementation("scale", named<Cyclic>("cyclic", "scale"));
  catalog.register_implementation("affine", named<Buffered>("buffered", "affine"));
  catalog.register_implementation("affine", named<Greedy>("greedy", "affine"));
}

}  // namespace kw::toy
