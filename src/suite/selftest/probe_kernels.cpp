// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/selftest/probe_kernels.hpp"

#include <algorithm>

#include "kernelwright/suite/element.hpp"

namespace kw::suite {
namespace {

static_assert(kit::kMaxProbeRank == kMaxRank);

DType dtype_of(kit::FillType type) {
  switch (type) {
    case kit::FillType::kF64:
      return DType::kF64;
    case kit::FillType::kF32:
      return DType::kF32;
    case kit::FillType::kF16:
      return DType::kF16;
    case kit::FillType::kBF16:
      return DType::kBF16;
    default:
      return DType::kI32;  // an index
  }
}

// A block of one thread.
struct HostPort {
  static double load(kit::FillType type, const void* data, long long offset) {
    return load_element(dtype_of(type),
                        static_cast<const std::byte*>(data) + offset * kit::probe_bytes(type));
  }
  static void store(kit::FillType type, void* data, long long offset, double value) {
    store_element(dtype_of(type), static_cast<std::byte*>(data) + offset * kit::probe_bytes(type),
                  value);
  }
  static double rounded(kit::FillType type, double value) {
    return round_to(dtype_of(type), value);
  }
  static int thread() { return 0; }
  static int threads() { return 1; }
  static void barrier() {}
};

kit::ProbeTensor probe_tensor(const TensorView& view) {
  kit::ProbeTensor tensor;
  if (!view.present()) return tensor;
  tensor.data = view.data;
  tensor.count = view.numel();
  tensor.rank = view.rank;
  std::copy(view.sizes.begin(), view.sizes.end(), tensor.sizes);
  std::copy(view.strides.begin(), view.strides.end(), tensor.strides);
  return tensor;
}

}  // namespace

kit::ProbeArgs probe_args(const AffineArgs& args) {
  kit::ProbeArgs given;
  given.x = probe_tensor(args.x);
  given.factor = probe_tensor(args.gain);
  given.result = probe_tensor(args.y);
  given.sum = probe_tensor(args.total);
  given.bias = args.bias;
  return given;
}

kit::ProbeArgs probe_args(const AffineBackwardArgs& args) {
  kit::ProbeArgs given;
  given.x = probe_tensor(args.x);
  given.factor = probe_tensor(args.gain);
  given.upstream = probe_tensor(args.dy);
  given.result = probe_tensor(args.dx);
  given.sum = probe_tensor(args.dgain);
  return given;
}

kit::ProbeArgs probe_args(const GatherArgs& args) {
  kit::ProbeArgs given;
  given.x = probe_tensor(args.x);
  given.factor = probe_tensor(args.index);
  given.result = probe_tensor(args.y);
  return given;
}

kit::ProbeArgs probe_args(const UpdateArgs& args) {
  kit::ProbeArgs given;
  given.x = probe_tensor(args.x);
  given.result = probe_tensor(args.state);
  return given;
}

jit::Unit probe_unit(const kit::ProbeCfg& cfg, const std::string& arch) {
  const jit::KernelBody body{
      jit::Dialect::kCuda, "cuda.suite.probe",   "kernelwright/kit/cuda/probe.cuh",
      "kw::kit::ProbeCfg", "kw::kit::ProbeArgs", "kw::kit::cuda::probe<kCfg>",
      "kCfg.threads"};
  runtime::LaunchShape shape;
  shape.block.x = static_cast<unsigned>(cfg.threads);
  const auto name = [](const auto& names, auto value) {
    return std::string(names[static_cast<std::size_t>(value)]);
  };
  return jit::make_unit(
      body, cfg,
      jit::entry_name("suite_probe", {name(kit::kProbeOperationNames, cfg.operation),
                                      name(kit::kFillTypeNames, cfg.type), cfg.two ? "two" : "one",
                                      name(kit::kSabotageNames, cfg.sabotage)}),
      arch, shape);
}

void run_probe_on_host(const kit::ProbeCfg& cfg, const kit::ProbeArgs& args) {
  kit::run_probe(cfg, args, HostPort{});
}

Status ProbeKernel::launch(const kit::ProbeArgs& args, void* stream) const {
  if (device != nullptr) return device->launch({1, 1, 1}, &args, sizeof args, stream);
  if (emulated != nullptr)
    return emulated->enqueue(stream, [cfg = cfg, args] { run_probe_on_host(cfg, args); });
  run_probe_on_host(cfg, args);
  return {};
}

}  // namespace kw::suite
