// SPDX-License-Identifier: Apache-2.0
// The formulas of contract.hpp, one element at a time in double: an oracle, and the definition of
// the variants' rounding steps. Serves every layout and, for oracles and gradient checks, f64.
#include <cmath>
#include <memory>

#include "kernelwright/base/numeric.hpp"
#include "kernelwright/ops/rms_norm/contract.hpp"

namespace kw::ops::rms_norm {
namespace {

double load(const TensorView& view, std::int64_t offset) noexcept {
  switch (view.dtype) {
    case DType::kF64:
      return static_cast<const double*>(view.data)[offset];
    case DType::kF32:
      return to_f64(static_cast<const float*>(view.data)[offset]);
    case DType::kBF16:
      return to_f64(static_cast<const bf16*>(view.data)[offset]);
    default:
      return to_f64(static_cast<const f16*>(view.data)[offset]);
  }
}

// The nearest value of `dtype`, ties to even.
double rounded(DType dtype, double value) noexcept {
  switch (dtype) {
    case DType::kF64:
      return value;
    case DType::kF32:
      return from_f64<float>(value);
    case DType::kBF16:
      return to_f64(from_f64<bf16>(value));
    default:
      return to_f64(from_f64<f16>(value));
  }
}

void store(const TensorView& view, std::int64_t offset, double value) noexcept {
  switch (view.dtype) {
    case DType::kF64:
      static_cast<double*>(view.data)[offset] = value;
      return;
    case DType::kF32:
      static_cast<float*>(view.data)[offset] = from_f64<float>(value);
      return;
    case DType::kBF16:
      static_cast<bf16*>(view.data)[offset] = from_f64<bf16>(value);
      return;
    default:
      static_cast<f16*>(view.data)[offset] = from_f64<f16>(value);
  }
}

// Element offset of row `row` (row-major over the dimensions before the last `inner`).
std::int64_t row_offset(const TensorView& view, std::int64_t row, int inner) noexcept {
  std::int64_t offset = 0;
  for (int i = view.rank - 1 - inner; i >= 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    offset += row % view.sizes[at] * view.strides[at];
    row /= view.sizes[at];
  }
  return offset;
}

// One row of a [*, C] tensor.
struct Row {
  const TensorView& view;
  std::int64_t offset, stride;

  Row(const TensorView& v, std::int64_t row)
      : view(v),
        offset(row_offset(v, row, 1)),
        stride(v.strides[static_cast<std::size_t>(v.rank - 1)]) {}
  double operator[](std::int64_t c) const noexcept { return load(view, offset + c * stride); }
  void set(std::int64_t c, double value) const noexcept { store(view, offset + c * stride, value); }
};

std::int64_t columns(const TensorView& x) noexcept {
  return x.sizes[static_cast<std::size_t>(x.rank - 1)];
}

std::int64_t row_count(const TensorView& x) noexcept {
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < x.rank; ++i) rows *= x.sizes[static_cast<std::size_t>(i)];
  return rows;
}

double reciprocal_rms(const Row& x, std::int64_t count, double eps) noexcept {
  double sum = 0;
  for (std::int64_t c = 0; c < count; ++c) sum += x[c] * x[c];
  return 1 / std::sqrt(sum / static_cast<double>(count) + eps);
}

double weight_at(const TensorView& weight, std::int64_t c) noexcept {
  return load(weight, c * weight.strides[0]);
}

void forward(Variant variant, const Args& args) noexcept {
  const std::int64_t count = columns(args.x), rows = row_count(args.x);
  const DType dtype = args.x.dtype;
  for (std::int64_t row = 0; row < rows; ++row) {
    const Row x(args.x, row), y(args.y, row);
    const double r = reciprocal_rms(x, count, args.eps);
    for (std::int64_t c = 0; c < count; ++c) {
      switch (variant) {
        case Variant::kStandard:
          y.set(c, rounded(dtype, x[c] * r) * weight_at(args.weight, c));
          break;
        case Variant::kFp32:
          y.set(c, x[c] * r * weight_at(args.weight, c));
          break;
        case Variant::kQwen3_5:
          y.set(c, x[c] * r * (1 + weight_at(args.weight, c)));
          break;
        case Variant::kUnweighted:
          y.set(c, x[c] * rounded(dtype, r));
          break;
      }
    }
    if (args.rstd.present()) store(args.rstd, row_offset(args.rstd, row, 0), r);
  }
}

double upstream(Variant variant, const BackwardArgs& args, const Row& dy, std::int64_t c) noexcept {
  if (variant == Variant::kUnweighted) return dy[c];
  return dy[c] * (weight_at(args.weight, c) + (variant == Variant::kQwen3_5 ? 1 : 0));
}

void backward(Variant variant, const BackwardArgs& args) {
  const std::int64_t count = columns(args.x), rows = row_count(args.x);
  std::vector<double> dweight(args.dweight.present() ? static_cast<std::size_t>(count) : 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    const Row dy(args.dy, row), x(args.x, row);
    const double r = args.rstd.present() ? load(args.rstd, row_offset(args.rstd, row, 0))
                                         : reciprocal_rms(x, count, args.eps);
    double mean = 0;
    for (std::int64_t c = 0; c < count; ++c) mean += upstream(variant, args, dy, c) * x[c] * r;
    mean /= static_cast<double>(count);
    for (std::int64_t c = 0; c < count; ++c) {
      if (!dweight.empty()) dweight[static_cast<std::size_t>(c)] += dy[c] * x[c] * r;
      if (args.dx.present())
        Row(args.dx, row).set(c, r * (upstream(variant, args, dy, c) - x[c] * r * mean));
    }
  }
  for (std::size_t c = 0; c < dweight.size(); ++c) {
    store(args.dweight, static_cast<std::int64_t>(c) * args.dweight.strides[0], dweight[c]);
  }
}

// The variant is all there is to specialise.
struct ReferenceCfg {
  Variant variant;
};
std::string cfg_text(const ReferenceCfg& cfg) {
  return "{.variant = " + std::to_string(static_cast<int>(cfg.variant)) + "}";
}

template <typename ArgsType, auto kCompute>
struct Reference {
  using Args = ArgsType;
  using Cfg = ReferenceCfg;
  using Plan = ReferenceCfg;

  static std::optional<Rejection> supports(const Problem&, const Hardware&) { return std::nullopt; }
  static WorkspaceSize workspace(const Problem&) { return {}; }
  static Cfg choose(const Problem& problem, const Hardware&, const CfgPins&) {
    return {static_cast<Variant>(problem.variant)};
  }
  static std::unique_ptr<Plan> prepare(const Cfg& cfg, PrepareRequest&) {
    return std::make_unique<Plan>(cfg);
  }
  static Status launch(const Plan& plan, const Args& args, const LaunchFrame&) noexcept {
    try {
      kCompute(plan.variant, args);
      return {};
    } catch (const std::bad_alloc&) {
      return failed(StatusCode::kInternal, "rms_norm reference: out of memory");
    }
  }
  static PlanFacts describe(const Plan&) { return {}; }
};

ImplementationInfo info(const char* operation) {
  ImplementationInfo info;
  info.name = std::string("cpu.reference.") + operation;
  info.description = "double precision, one element at a time; an oracle";
  info.solution = "reference";
  info.graph_mode = false;
  info.batch_invariant = true;
  info.explicit_only = true;
  return info;
}

}  // namespace

Implementation reference_forward() {
  return make_implementation<Reference<Args, forward>>(info("rms_norm"));
}
Implementation reference_backward() {
  return make_implementation<Reference<BackwardArgs, backward>>(info("rms_norm_backward"));
}

}  // namespace kw::ops::rms_norm
