// SPDX-License-Identifier: Apache-2.0
#include "suite/support/toy_operation.hpp"

#include <cmath>
#include <cstring>
#include <deque>
#include <limits>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/suite/element.hpp"

namespace kw::test {
namespace {

using suite::read_elements;
using suite::round_to;
using suite::write_elements;

constexpr std::int64_t kWorkspaceBytes = 128, kZeroedBytes = 64;

struct Plan {
  bool reference = false;
  bool two = false;
  Sabotage sabotage = Sabotage::kNone;
  mutable int calls = 0;
};

double truncated(DType dtype, double value) {
  const double nearest = round_to(dtype, value);
  if (std::fabs(nearest) <= std::fabs(value)) return nearest;
  return nearest - std::copysign(suite::float_format(dtype).ulp(value), value);
}

// One element in the arithmetic of the plan: double for the oracle, float otherwise.
double affine(const Plan& plan, DType dtype, double x, double gain, double bias) {
  const bool rounds = plan.two ? plan.sabotage != Sabotage::kMissingRounding
                               : plan.sabotage == Sabotage::kExtraRounding;
  double product = plan.reference
                       ? x * gain
                       : static_cast<double>(static_cast<float>(x) * static_cast<float>(gain));
  if (rounds) product = round_to(dtype, product);
  const double sum =
      plan.reference ? product + bias
                     : static_cast<double>(static_cast<float>(product) + static_cast<float>(bias));
  if (plan.sabotage == Sabotage::kTruncate) return truncated(dtype, sum);
  if (plan.sabotage == Sabotage::kScale) return sum * 0.999;
  return sum;
}

Status forward(const Plan& plan, const AffineArgs& args, const LaunchFrame& frame) {
  const std::vector<double> x = read_elements(args.x), gain = read_elements(args.gain);
  const std::size_t width = gain.size(), rows = width == 0 ? 0 : x.size() / width;
  std::vector<double> y(x.size()), before = read_elements(args.y);
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = affine(plan, args.y.dtype, x[i], gain[i % width], args.bias);

  auto* workspace = static_cast<unsigned char*>(frame.workspace);
  auto* base = static_cast<unsigned char*>(args.y.data);
  const std::size_t bytes = dtype_bytes(args.y.dtype);
  const bool some = !y.empty();
  switch (plan.sabotage) {
    case Sabotage::kZeros:
      y.assign(y.size(), 0.0);
      break;
    case Sabotage::kCopyInput:
      y = x;
      break;
    case Sabotage::kOneElement:
      if (some) y[y.size() / 2] *= 1.01;
      break;
    case Sabotage::kSkipLastRow:
      for (std::size_t c = 0; some && c < width; ++c)
        y[y.size() - 1 - c] = before[y.size() - 1 - c];
      break;
    case Sabotage::kMutateInput:
      if (some) static_cast<unsigned char*>(args.x.data)[0] ^= 1;
      break;
    case Sabotage::kWriteBefore:
      base[-1] = 0;
      break;
    case Sabotage::kWriteAfter:
      if (some) base[y.size() * bytes] ^= 0x11;
      break;
    case Sabotage::kWriteGap:
      if (rows > 1 && args.y.strides[0] > static_cast<std::int64_t>(width))
        base[width * bytes] ^= 0x11;
      break;
    case Sabotage::kReadsOutput:
      if (some) y[0] += before[0] * 0.5;
      break;
    case Sabotage::kReadsWorkspace:
      if (some) y[0] += workspace[100];
      break;
    case Sabotage::kWorkspaceOverflow:
      workspace[kWorkspaceBytes] = 0;
      break;
    case Sabotage::kWorkspaceDirty:
      workspace[0] = 1;
      break;
    case Sabotage::kSwallowNan:
      for (double& v : y)
        if (std::isnan(v)) v = 0;
      break;
    case Sabotage::kSpreadNan:
      for (std::size_t i = width; i < y.size(); ++i)
        if (std::isnan(x[i - width])) y[i] = std::numeric_limits<double>::quiet_NaN();
      break;
    case Sabotage::kBatchDependent:
      if (rows >= 4) y[0] += std::fabs(y[0]) * 0x1p-22;
      break;
    case Sabotage::kNondeterministic:
      if (some) y[0] += std::fabs(y[0]) * 0x1p-22 * plan.calls++;
      break;
    case Sabotage::kWrongOddWidth:
      if (width >= 9 && width % 2 == 1 && some) y[width - 1] += 1;
      break;
    case Sabotage::kFailLaunch:
      return failed(StatusCode::kUnsupported, "toy: not after all");
    default:
      break;
  }
  write_elements(args.y, y);

  if (!args.total.present() || plan.sabotage == Sabotage::kSkipTotal ||
      (plan.sabotage == Sabotage::kWrongEmpty && rows == 0))
    return {};
  // Interleaved partial sums, as no sequential float sum of thousands of equal terms is accurate.
  constexpr std::size_t kPartials = 64;
  std::vector<double> partials(width * kPartials, 0.0), total(width, 0.0);
  const auto add = [&](double& sum, double term) {
    sum = plan.reference ? sum + term
                         : static_cast<double>(static_cast<float>(sum) + static_cast<float>(term));
  };
  for (std::size_t i = 0; i < x.size(); ++i)
    add(partials[i / width % kPartials * width + i % width], x[i]);
  for (std::size_t i = 0; i < partials.size(); ++i) add(total[i % width], partials[i]);
  write_elements(args.total, total);
  return {};
}

Status backward(const Plan& plan, const AffineBackwardArgs& args, const LaunchFrame&) {
  std::vector<double> dy = read_elements(args.dy), gain = read_elements(args.gain),
                      total = read_elements(args.total);
  for (std::size_t i = 0; i < dy.size(); ++i) {
    const std::size_t c = i % gain.size();
    dy[i] = plan.reference
                ? dy[i] * gain[c] + total[c]
                : static_cast<double>(static_cast<float>(dy[i]) * static_cast<float>(gain[c]) +
                                      static_cast<float>(total[c]));
  }
  write_elements(args.dx, dy);
  return {};
}

struct Self {
  bool reference;
  Sabotage sabotage;
};

template <typename Args, Status (*kRun)(const Plan&, const Args&, const LaunchFrame&)>
Implementation make_toy(bool reference, Sabotage sabotage, std::string name) {
  ImplementationInfo info;
  info.name = std::move(name);
  info.description = "for tests";
  info.solution = reference ? "reference" : "toy";
  info.device = DeviceKind::kCpu;
  info.deterministic = true;
  info.batch_invariant = true;
  info.explicit_only = reference;
  ImplementationFunctions f;
  f.supports = [](void* self, const Problem& problem, const Hardware&) -> std::optional<Rejection> {
    const bool wide = problem.dtype("T") == DType::kF64;
    if (wide && !static_cast<const Self*>(self)->reference)
      return Rejection{Rejection::Code::kDType, "f64 is for the oracle"};
    return std::nullopt;
  };
  f.workspace = [](void*, const Problem&) { return WorkspaceSize{kWorkspaceBytes, kZeroedBytes}; };
  f.choose = [](void*, const Problem& problem, const Hardware&, const CfgPins&) {
    return Specialization{problem.variant_name(), std::make_shared<const int>(problem.variant)};
  };
  f.prepare = [](void* self, PrepareRequest& request) -> void* {
    const auto* s = static_cast<const Self*>(self);
    if (s->sabotage == Sabotage::kThrowPrepare)
      fail(Code::kUnsupported, "toy: cannot prepare this");
    return new Plan{s->reference, request.problem.variant_name() == "two", s->sabotage};
  };
  f.launch = [](const void* plan, const void* args, const LaunchFrame& frame) noexcept {
    return kRun(*static_cast<const Plan*>(plan), *static_cast<const Args*>(args), frame);
  };
  f.destroy = [](void* plan) noexcept { delete static_cast<Plan*>(plan); };
  f.describe = [](const void*) { return PlanFacts{}; };
  // One per defect for the life of the process; implementations hold a bare pointer.
  static std::deque<Self> selves;
  return Implementation{std::move(info), f, &selves.emplace_back(Self{reference, sabotage})};
}

std::vector<Variant> variants() {
  return {{"one", "one rounding", ToleranceClass::kOneRounding},
          {"two", "rounds the product", ToleranceClass::kTwoRoundings}};
}

}  // namespace

void AffineArgs::visit(Recorder& v) {
  v.symbol("C", Variability::kStatic, 1, 4096, "columns");
  v.input("x", x, "[*, C]", "T: bf16|f16|f32|f64", "rows").differentiable();
  v.input("gain", gain, "[C]", "T", "factor of each column").differentiable();
  v.output("y", y, "[*, C]", "T", "x * gain + bias");
  v.output("total", total, "[C]", "acc(T)", "sum of the rows of x").saved();
  v.scalar("bias", bias, "added to every element").range(-2, 2);
}

const Contract& AffineArgs::contract() {
  static const Contract kContract = make_contract<AffineArgs>({.operation = "affine",
                                                               .summary = "for tests",
                                                               .version = 1,
                                                               .variants = variants(),
                                                               .numerical_mode = "f32",
                                                               .backward = "affine_backward",
                                                               .field = {},
                                                               .constrain = nullptr,
                                                               .flops = nullptr,
                                                               .bytes = nullptr});
  return kContract;
}

void AffineBackwardArgs::visit(Recorder& v) {
  v.symbol("C", Variability::kStatic, 1, 4096, "columns");
  v.input("dy", dy, "[*, C]", "T: bf16|f16|f32|f64", "gradient of y");
  v.input("x", x, "[*, C]", "T", "rows");
  v.input("gain", gain, "[C]", "T", "factor of each column");
  v.input("total", total, "[C]", "acc(T)", "as saved by the forward");
  v.output("dx", dx, "[*, C]", "T", "gradient of x");
  v.scalar("bias", bias, "as in the forward").range(-2, 2);
}

const Contract& AffineBackwardArgs::contract() {
  static const Contract kContract =
      make_contract<AffineBackwardArgs>({.operation = "affine_backward",
                                         .summary = "for tests",
                                         .version = 1,
                                         .variants = variants(),
                                         .numerical_mode = "f32",
                                         .backward = {},
                                         .field = {},
                                         .constrain = nullptr,
                                         .flops = nullptr,
                                         .bytes = nullptr});
  return kContract;
}

Implementation toy_affine(Sabotage sabotage) {
  return make_toy<AffineArgs, forward>(false, sabotage, "cpu.toy.affine");
}

void add_toy_operations(Catalog& catalog, Sabotage sabotage) {
  catalog.add({&AffineArgs::contract(),
               {toy_affine(sabotage),
                make_toy<AffineArgs, forward>(true, Sabotage::kNone, "cpu.reference.affine")}});
  catalog.add(
      {&AffineBackwardArgs::contract(),
       {make_toy<AffineBackwardArgs, backward>(false, Sabotage::kNone, "cpu.toy.affine_backward"),
        make_toy<AffineBackwardArgs, backward>(true, Sabotage::kNone,
                                               "cpu.reference.affine_backward")}});
}

}  // namespace kw::test
