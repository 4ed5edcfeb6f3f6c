// SPDX-License-Identifier: Apache-2.0
// cuda.jit.rms_norm and cuda.jit.rms_norm_backward: domain, choice of Cfg, units, launch.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "kernelwright/backend/cuda/cuda_toolchain.hpp"
#include "kernelwright/base/fail.hpp"
#include "kernelwright/jit/args_schema.hpp"
#include "kernelwright/jit/plan.hpp"
#include "kernelwright/ops/rms_norm/cfg.hpp"
#include "kernelwright/ops/rms_norm/contract.hpp"
#include "kernelwright/ops/rms_norm/cuda_geometry.hpp"
#include "kernelwright/ops/rms_norm/cuda_layout.hpp"
#include "kernelwright/tune/cfg_table.hpp"
#include "kernelwright/tune/search.hpp"
#include "kernelwright/tune/tables.hpp"

namespace kw::ops::rms_norm {

static std::string cfg_text(const CudaForwardCfg& cfg) { return jit::cfg_text(cfg); }
static std::string cfg_text(const CudaBackwardCfg& cfg) { return jit::cfg_text(cfg); }

namespace {

constexpr std::int64_t kFreeSize = 16384;  // for a free dimension while choosing: the last bucket
constexpr const char* kInclude = "kernelwright/ops/rms_norm/cuda_body.cuh";
constexpr const char* kBounds = "kw::ops::rms_norm::block_threads(kCfg), kCfg.min_blocks";

CudaLimits limits_of(const Hardware& hardware) {
  if (hardware.capability < 90) return {1, 0};
  if (hardware.capability >= 120) return {8, 99 * 1024};
  return {};
}

// A view without data; a free dimension gets a size, and a contiguous tensor strides to match.
TensorView shape_of(const TensorSpec& spec) {
  if (!spec.present) return {};
  TensorSpec sized = spec;
  std::replace(sized.sizes.begin(), sized.sizes.begin() + sized.rank, kFreeDim, kFreeSize);
  return view_of(sized, nullptr);
}

// Whether the rows of `tensors`, all of one dtype, begin and end at multiples of 16 bytes.
template <std::size_t kTensors>
bool rows_aligned(const Problem& problem, const std::array<const char*, kTensors>& names, int size,
                  int leading, const std::array<const kit::RowStrides*, kTensors>& rows) {
  if (problem.size("C") * size % 16 != 0) return false;
  for (std::size_t i = 0; i < kTensors; ++i) {
    const TensorSpec& spec = problem.tensor(names[i]);
    if (!spec.present) continue;
    if (spec.align < 16) return false;
    for (int d = 0; d < leading; ++d) {
      if (rows[i]->stride[d] * size % 16 != 0) return false;
    }
  }
  return true;
}

// Facts that both Cfgs hold; `unit_stride` speaks of every tensor with columns.
template <typename Cfg, std::size_t kTensors>
void state_facts(Cfg& cfg, const Problem& problem, const std::array<const char*, kTensors>& names,
                 int leading, const std::array<const kit::RowStrides*, kTensors>& rows,
                 bool unit_stride) {
  const bool has_weight = problem.has("weight");
  cfg.variant = static_cast<Variant>(problem.variant);
  cfg.element = kit::element_of(problem.dtype("T"));
  if (has_weight) cfg.weight = kit::element_of(problem.dtype("W"));
  cfg.hidden = static_cast<int>(problem.size("C"));
  cfg.leading = leading;
  const TensorView weight = shape_of(problem.tensor("weight"));
  const bool dense_weight = !has_weight || cfg.hidden == 1 || weight.strides[0] == 1;
  cfg.unit_stride = unit_stride && dense_weight;
  const int size = element_bytes(cfg.element);
  cfg.aligned = cfg.unit_stride && rows_aligned(problem, names, size, leading, rows);
  if (has_weight) {
    cfg.weight_access =
        cfg.unit_stride ? problem.tensor("weight").align : element_bytes(cfg.weight);
  }
}

// Facts of the problem and the tree.
CudaForwardCfg tree_cfg(const CudaForwardCfg*, const Problem& problem, const Hardware& hardware) {
  const TensorView x = shape_of(problem.tensor("x")), y = shape_of(problem.tensor("y")),
                   rstd = shape_of(problem.tensor("rstd"));
  CudaForwardArgs args{};
  const int leading = lay_out(args, x, y, rstd);
  CudaForwardCfg cfg;
  cfg.want_rstd = problem.has("rstd");
  state_facts<CudaForwardCfg, 2>(cfg, problem, {"x", "y"}, leading, {&args.x_rows, &args.y_rows},
                                 args.x_step == 1 && args.y_step == 1);
  set_tree(cfg, limits_of(hardware));
  return cfg;
}

CudaBackwardCfg tree_cfg(const CudaBackwardCfg*, const Problem& problem, const Hardware& hardware) {
  const TensorView x = shape_of(problem.tensor("x")), dy = shape_of(problem.tensor("dy")),
                   dx = shape_of(problem.tensor("dx")), rstd = shape_of(problem.tensor("rstd"));
  CudaBackwardArgs args{};
  const int leading = lay_out(args, x, dy, dx, rstd);
  CudaBackwardCfg cfg;
  cfg.has_rstd = problem.has("rstd");
  cfg.want_dx = problem.has("dx");
  cfg.want_dweight = problem.has("dweight");
  state_facts<CudaBackwardCfg, 3>(cfg, problem, {"x", "dy", "dx"}, leading,
                                  {&args.x_rows, &args.dy_rows, &args.dx_rows},
                                  args.x_step == 1 && args.dy_step == 1 && args.dx_step == 1);
  set_tree(cfg, limits_of(hardware));
  return cfg;
}

long long rows_to_choose_for(const Problem& problem) {
  return problem.rows() == kFreeDim ? kFreeSize : problem.rows();
}

template <typename Cfg>
Cfg default_cfg(const Problem& problem, const Hardware& hardware) {
  Cfg cfg = tree_cfg(static_cast<const Cfg*>(nullptr), problem, hardware);
  set_free(cfg, rows_to_choose_for(problem), limits_of(hardware));
  return cfg;
}

template <typename Cfg>
void refuse_pinned_facts(const CfgPins& pins) {
  for (const auto& pin : pins) {
    if (!tune::is_fact<Cfg>(pin.first)) continue;
    fail(Code::kInvalidArgument,
         "--cfg {}: it follows from the problem and cannot be pinned; geometry can", pin.first);
  }
}

bool fits(const CudaLimits& limits, const CudaForwardCfg& cfg) {
  return cfg.cluster <= limits.max_cluster;
}
bool fits(const CudaLimits& limits, const CudaBackwardCfg& cfg) {
  return cfg.cluster <= limits.max_cluster &&
         (cfg.stages == 0 || block_shared_bytes(cfg) <= limits.max_shared_bytes);
}

template <typename Cfg>
void pin(Cfg& cfg, const Hardware& hardware, const CfgPins& pins) {
  if (pins.empty()) return;
  jit::apply_pins(cfg, pins);  // first, for it names the fields that exist
  refuse_pinned_facts<Cfg>(pins);
  if (const char* why = objection(cfg)) {
    fail(Code::kInvalidArgument, "--cfg gives {}: {}", jit::cfg_text(cfg), why);
  }
  const CudaLimits limits = limits_of(hardware);
  if (!fits(limits, cfg)) {
    fail(Code::kUnsupported,
         "--cfg gives {}: {} has clusters up to {} and {} bytes of shared memory a block",
         jit::cfg_text(cfg), capability_text(DeviceKind::kCuda, hardware.capability),
         limits.max_cluster, limits.max_shared_bytes);
  }
}

int bucket_of(const Problem& problem) {
  const std::int64_t rows = problem.rows();
  return row_bucket(rows == kFreeDim ? std::numeric_limits<long long>::max() : rows);
}

const char* operation_of(const CudaForwardCfg&) { return "rms_norm"; }
const char* operation_of(const CudaBackwardCfg&) { return "rms_norm_backward"; }

template <typename Cfg>
const tune::CfgTable<Cfg>& table() {
  static const tune::CfgTable<Cfg> table(
      tune::table_of("rms_norm"), std::string("cuda.jit.") + operation_of(Cfg{}),
      {std::begin(kRowBucketNames), std::end(kRowBucketNames)}, "rms_norm/tuning.json");
  return table;
}

// Formula, then table, then pins. The table speaks of aligned rows; others take the tree from it,
// so that a row's bits do not follow its address, and the rest from the formula.
template <typename Cfg>
ChosenCfg<Cfg> choose_cfg(const Problem& problem, const Hardware& hardware, const CfgPins& pins) {
  ChosenCfg<Cfg> chosen{tree_cfg(static_cast<const Cfg*>(nullptr), problem, hardware)};
  Cfg& cfg = chosen.cfg;
  const CudaLimits limits = limits_of(hardware);
  const long long rows = rows_to_choose_for(problem);
  Cfg twin = cfg;
  twin.unit_stride = true;
  twin.aligned = cfg.hidden % row_tiling(cfg).width == 0;
  set_free(twin, rows, limits);
  chosen.origin = table<Cfg>().apply(twin, hardware, bucket_of(problem), [&](const Cfg& tuned) {
    return objection(tuned) == nullptr && fits(limits, tuned);
  });
  if (cfg.unit_stride && cfg.aligned == twin.aligned) {
    cfg = twin;
  } else {
    cfg.threads_per_row = twin.threads_per_row;
    cfg.cluster = twin.cluster;
    cfg.reload = twin.reload;
    set_free(cfg, rows, limits);
  }
  pin(chosen.cfg, hardware, pins);
  if (!pins.empty()) chosen.origin = "pins over " + chosen.origin;
  return chosen;
}

template <typename Cfg>
tune::Geometry describe_geometry(const Problem& problem, const Hardware& hardware,
                                 const CfgPins& pins) {
  Cfg cfg = default_cfg<Cfg>(problem, hardware);
  pin(cfg, hardware, pins);
  return tune::geometry_of(cfg, kRowBucketNames[bucket_of(problem)],
                           {block_threads(cfg) * cfg.cluster, dynamic_shared_bytes(cfg),
                            cfg.reload ? 0 : row_registers(cfg) * cfg.unroll, cfg.unroll});
}

template <typename CfgType>
std::optional<Rejection> rejection_of(const Problem& problem, const Hardware& hardware) {
  if (problem.dtype("T") == DType::kF64) {
    return Rejection{Rejection::Code::kDType, "computes in f32; it does not take f64"};
  }
  const char* why = objection(default_cfg<CfgType>(problem, hardware));
  if (why != nullptr) return Rejection{Rejection::Code::kShape, why};
  return std::nullopt;
}

template <typename Cfg>
jit::Unit unit_of(const char* operation, const char* call, const char* bounds, const char* cfg_type,
                  const char* args_type, const Cfg& cfg, std::vector<std::string> parts,
                  const std::string& arch, const runtime::LaunchShape& shape) {
  const std::string scope = "kw::ops::rms_norm::";
  const jit::KernelBody body{jit::Dialect::kCuda,
                             std::string("cuda.jit.") + operation,
                             kInclude,
                             scope + cfg_type,
                             scope + args_type,
                             scope + call,
                             bounds};
  return jit::make_unit(body, cfg, jit::entry_name(operation, parts), arch, shape);
}

// "standard", "bf16", "bf16", "h7168", "448x1x1": words of an entry's name.
template <typename Cfg>
std::vector<std::string> name_parts(const Cfg& cfg) {
  std::vector<std::string> parts{kVariantNames[static_cast<int>(cfg.variant)],
                                 kElementNames[static_cast<int>(cfg.element)]};
  if (weighted(cfg.variant)) parts.emplace_back(kElementNames[static_cast<int>(cfg.weight)]);
  parts.push_back(fmt::format("h{}", cfg.hidden));
  parts.push_back(fmt::format("{}x{}x{}", cfg.threads_per_row, cfg.rows_per_block, cfg.cluster));
  return parts;
}

template <typename Cfg>
runtime::LaunchShape shape_for(const Cfg& cfg) {
  runtime::LaunchShape shape;
  shape.block.x = static_cast<unsigned>(block_threads(cfg));
  shape.cluster.x = static_cast<unsigned>(cfg.cluster);
  shape.shared_bytes = static_cast<unsigned>(dynamic_shared_bytes(cfg));
  return shape;
}

std::vector<jit::Unit> units_of(const CudaForwardCfg& cfg, const std::string& arch) {
  return {unit_of("rms_norm", "cuda::forward<kCfg>", kBounds, "CudaForwardCfg", "CudaForwardArgs",
                  cfg, name_parts(cfg), arch, shape_for(cfg))};
}

std::vector<jit::Unit> units_of(const CudaBackwardCfg& cfg, const std::string& arch) {
  std::vector<jit::Unit> units{unit_of("rms_norm_backward", "cuda::backward<kCfg>", kBounds,
                                       "CudaBackwardCfg", "CudaBackwardArgs", cfg, name_parts(cfg),
                                       arch, shape_for(cfg))};
  if (!cfg.want_dweight) return units;
  CudaBackwardCfg reduce;  // of the others the second kernel knows nothing: one binary serves all
  reduce.weight = cfg.weight;
  reduce.hidden = cfg.hidden;
  runtime::LaunchShape shape;
  shape.block.x = kReduceThreads;
  units.push_back(unit_of(
      "rms_norm_backward", "cuda::reduce_dweight<kCfg>", "kw::ops::rms_norm::kReduceThreads",
      "CudaBackwardCfg", "CudaBackwardArgs", reduce,
      {"dweight", kElementNames[static_cast<int>(cfg.weight)], fmt::format("h{}", cfg.hidden)},
      arch, shape));
  return units;
}

template <typename CfgType>
struct Prepared {
  CfgType cfg;
  std::vector<std::shared_ptr<const jit::Plan>> kernels;
};

// What forward and backward share.
template <typename CfgType>
struct Jit {
  using Cfg = CfgType;
  using Plan = Prepared<CfgType>;

  static std::optional<Rejection> supports(const Problem& problem, const Hardware& hardware) {
    return rejection_of<Cfg>(problem, hardware);
  }
  static ChosenCfg<Cfg> choose(const Problem& problem, const Hardware& hardware,
                               const CfgPins& pins) {
    return choose_cfg<Cfg>(problem, hardware, pins);
  }
  static std::unique_ptr<Plan> prepare(const Cfg& cfg, PrepareRequest& request) {
    auto* const device = dynamic_cast<runtime::Device*>(&request.device);
    if (device == nullptr) {
      fail(Code::kInternal, "{} needs a runtime::Device to load on", jit::cfg_text(cfg));
    }
    auto plan = std::make_unique<Plan>(Plan{cfg, {}});
    const auto units = units_of(cfg, jit::cuda_arch(device->hardware()));
    for (jit::PrepareOutcome& outcome : jit::Session::process().prepare_all(
             jit::cuda_toolchain(), units, *device, static_cast<int>(units.size()))) {
      if (outcome.error) std::rethrow_exception(outcome.error);
      plan->kernels.push_back(std::move(outcome.plan));
    }
    return plan;
  }
  static PlanFacts describe(const Plan& plan) {
    PlanFacts facts;
    for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
      const std::string scope = i == 0 ? "" : fmt::format("kernel_{}.", i + 1);
      for (const auto& [name, value] : plan.kernels[i]->info()) {
        facts.emplace_back(scope + name, value);
      }
    }
    return facts;
  }
};

// Prepared for this very call's layout, so a difference is a defect of ours.
Status foreign_layout() noexcept {
  try {
    return failed(StatusCode::kInternal, "cuda.jit.rms_norm: the plan is of another layout");
  } catch (...) {
    return {StatusCode::kInternal};
  }
}

template <typename KernelArgs>
Status launch_blocks(const jit::Plan& kernel, long long blocks, const KernelArgs& args,
                     void* stream) noexcept {
  jit::require_complete_args<KernelArgs>();
  if (blocks == 0) return {};
  if (blocks > std::numeric_limits<int>::max()) {
    try {
      return failed(StatusCode::kUnsupported,
                    fmt::format("{} blocks exceed a grid; split the rows", blocks));
    } catch (...) {
      return {StatusCode::kUnsupported};
    }
  }
  return kernel.launch({static_cast<unsigned>(blocks), 1, 1}, &args, sizeof args, stream);
}

struct Forward : Jit<CudaForwardCfg> {
  using Args = rms_norm::Args;
  static WorkspaceSize workspace(const Problem&) { return {}; }
  static Status launch(const Plan& plan, const Args& call, const LaunchFrame& frame) noexcept {
    CudaForwardArgs args;  // every field is set: zeroing 352 bytes first takes 8 ns
    if (lay_out(args, call.x, call.y, call.rstd) != plan.cfg.leading) return foreign_layout();
    args.x = call.x.data;
    args.weight = call.weight.data;
    args.y = call.y.data;
    args.rstd = static_cast<float*>(call.rstd.data);
    args.weight_step = call.weight.present() ? call.weight.strides[0] : 1;
    args.eps = static_cast<float>(call.eps);
    return launch_blocks(*plan.kernels[0], forward_grid(plan.cfg, args.rows), args, frame.stream);
  }
};

struct Backward : Jit<CudaBackwardCfg> {
  using Args = BackwardArgs;
  // As if a block took one row at a time, which geometry only lowers.
  static WorkspaceSize workspace(const Problem& problem) {
    if (!problem.has("dweight")) return {};
    const std::int64_t rows = problem.rows(), width = problem.size("C");
    const std::int64_t most = max_partials(static_cast<int>(width));
    return {4 * partial_pitch(static_cast<int>(width)) *
                (rows == kFreeDim ? most : std::min(rows, most)),
            0};
  }
  static Status launch(const Plan& plan, const Args& call, const LaunchFrame& frame) noexcept {
    const CudaBackwardCfg& cfg = plan.cfg;
    CudaBackwardArgs args;
    if (lay_out(args, call.x, call.dy, call.dx, call.rstd) != cfg.leading) return foreign_layout();
    args.dy = call.dy.data;
    args.x = call.x.data;
    args.weight = call.weight.data;
    args.rstd = static_cast<const float*>(call.rstd.data);
    args.dx = call.dx.data;
    args.dweight = call.dweight.data;
    args.partials = static_cast<float*>(frame.workspace);
    args.weight_step = call.weight.present() ? call.weight.strides[0] : 1;
    args.dweight_step = call.dweight.present() ? call.dweight.strides[0] : 1;
    args.eps = static_cast<float>(call.eps);
    args.partial_count = backward_partials(cfg, args.rows);
    const Status status =
        launch_blocks(*plan.kernels[0], backward_grid(cfg, args.rows), args, frame.stream);
    if (!status || !cfg.want_dweight) return status;
    return launch_blocks(*plan.kernels[1], reduce_grid(cfg), args, frame.stream);  // also of 0 rows
  }
};

ImplementationInfo info(const char* operation) {
  ImplementationInfo info;
  info.name = std::string("cuda.jit.") + operation;
  info.description = "compiled by NVRTC for the row's width, f32 arithmetic, any layout";
  info.solution = "jit";
  info.device = DeviceKind::kCuda;
  info.min_capability = 80;
  info.batch_invariant = true;
  return info;
}

}  // namespace

Implementation cuda_forward() { return make_implementation<Forward>(info("rms_norm")); }
Implementation cuda_backward() { return make_implementation<Backward>(info("rms_norm_backward")); }

tune::Geometry cuda_forward_geometry(const Problem& problem, const Hardware& hardware,
                                     const CfgPins& pins) {
  return describe_geometry<CudaForwardCfg>(problem, hardware, pins);
}
tune::Geometry cuda_backward_geometry(const Problem& problem, const Hardware& hardware,
                                      const CfgPins& pins) {
  return describe_geometry<CudaBackwardCfg>(problem, hardware, pins);
}

std::vector<jit::Unit> cuda_units(const Problem& problem, const Hardware& hardware) {
  const std::string arch = jit::cuda_arch(hardware);
  if (problem.contract == &BackwardArgs::contract()) {
    return units_of(choose_cfg<CudaBackwardCfg>(problem, hardware, {}).cfg, arch);
  }
  return units_of(choose_cfg<CudaForwardCfg>(problem, hardware, {}).cfg, arch);
}

}  // namespace kw::ops::rms_norm
