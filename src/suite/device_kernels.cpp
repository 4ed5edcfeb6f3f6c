// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/device_kernels.hpp"

#include <algorithm>
#include <array>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/jit/fields.hpp"
#include "kernelwright/suite/element.hpp"

namespace kw::suite {
namespace {

constexpr int kBlocksPerUnit = 16;  // of the grid; threads walk the rest
constexpr const char* kInclude = "kernelwright/kit/cuda/fill.cuh";

template <typename Cfg>
jit::Unit unit_of(const std::string& name, const Cfg& cfg, const std::string& cfg_type,
                  const std::string& args_type, std::vector<std::string> parts,
                  const std::string& arch) {
  const jit::KernelBody body{
      jit::Dialect::kCuda,    "cuda.suite." + name,    kInclude,
      "kw::kit::" + cfg_type, "kw::kit::" + args_type, "kw::kit::cuda::" + name + "<kCfg>",
      "kCfg.threads"};
  runtime::LaunchShape shape;
  shape.block.x = static_cast<unsigned>(cfg.threads);
  return jit::make_unit(body, cfg, jit::entry_name("suite_" + name, parts), arch, shape);
}

}  // namespace

jit::Unit fill_unit(const kit::FillCfg& cfg, const std::string& arch) {
  return unit_of(
      "fill", cfg, "FillCfg", "FillArgs",
      {kit::kFillTypeNames[static_cast<std::size_t>(cfg.type)],
       kit::kFillNames[static_cast<std::size_t>(cfg.fill)], cfg.dense ? "dense" : "strided"},
      arch);
}

jit::Unit compare_unit(const kit::CompareCfg& cfg, const std::string& arch) {
  return unit_of("compare", cfg, "CompareCfg", "CompareArgs", {}, arch);
}

jit::Unit empty_unit(const std::string& arch) {
  jit::Unit unit;
  unit.kernel = "cuda.suite.empty";
  unit.entry = jit::entry_name("suite_empty", {});
  unit.arch = arch;
  unit.source = "extern \"C\" __global__ void " + unit.entry + "(unsigned long long) {}\n";
  unit.shape.block.x = 32;
  return unit;
}

DeviceKernels::DeviceKernels(runtime::Device& device, jit::Toolchain& toolchain, std::string arch,
                             jit::Session& session)
    : device_(device), toolchain_(toolchain), arch_(std::move(arch)), session_(session) {}

const jit::Plan& DeviceKernels::prepare(const jit::Unit& unit) {
  auto& plan = plans_[unit.entry];
  if (plan == nullptr) plan = session_.prepare(toolchain_, unit, device_);
  return *plan;
}

void DeviceKernels::launch(const jit::Plan& plan, std::int64_t threads, const void* arguments,
                           std::size_t bytes, void* stream) const {
  const std::int64_t block = plan.unit().shape.block.x;
  const std::int64_t most = std::int64_t{kBlocksPerUnit} * std::max(device_.hardware().units, 1);
  const std::int64_t blocks = std::clamp<std::int64_t>((threads + block - 1) / block, 1, most);
  throw_if_failed(plan.launch({static_cast<unsigned>(blocks), 1, 1}, arguments, bytes, stream));
}

bool DeviceKernels::fill(const TensorView& view, const FillKey& key, void* stream) {
  if (!has_elements(view.dtype)) return false;
  const TensorView distinct = distinct_elements(view);
  if (self_overlaps(distinct)) return false;
  kit::FillArgs args;
  args.data = view.data;
  args.count = distinct.numel();
  if (args.count == 0) return true;
  args.rule = fill_rule(key, view.numel());
  kit::FillCfg cfg;
  cfg.fill = key.fill;
  cfg.type = fill_type(view.dtype);
  cfg.dense = view.contiguous();
  if (!cfg.dense) {
    std::array<std::int64_t, kMaxRank> index_strides{};
    contiguous_strides(view.shape(), index_strides);
    args.rank = view.rank;
    for (std::size_t d = 0; d < static_cast<std::size_t>(view.rank); ++d) {
      args.sizes[d] = distinct.sizes[d];
      args.strides[d] = view.strides[d];
      args.index_strides[d] = index_strides[d];
    }
  }
  launch(prepare(fill_unit(cfg, arch_)), cfg.dense ? (args.count + 3) / 4 : args.count, &args,
         sizeof args, stream);
  return true;
}

void DeviceKernels::compare(const void* first, const void* second, std::int64_t bytes,
                            void* stream) {
  const auto aligned = [](const void* data) {
    return reinterpret_cast<std::uintptr_t>(data) % 8 == 0;
  };
  if (bytes % 8 != 0 || !aligned(first) || !aligned(second))
    fail(Code::kInternal, "memory that is compared on a device is aligned to 8 bytes");
  if (!flag_) {
    flag_ = runtime::Buffer(device_, 8);
    device_.fill(flag_.data(), 0, flag_.bytes(), stream);
  }
  const kit::CompareArgs args{static_cast<const unsigned long long*>(first),
                              static_cast<const unsigned long long*>(second), bytes / 8,
                              reinterpret_cast<unsigned*>(flag_.data())};
  launch(prepare(compare_unit({}, arch_)), args.words, &args, sizeof args, stream);
}

bool DeviceKernels::take_difference(void* stream) {
  if (!flag_) return false;
  std::uint64_t differs = 0;
  device_.copy(&differs, flag_.data(), flag_.bytes(), stream);
  device_.fill(flag_.data(), 0, flag_.bytes(), stream);
  device_.synchronize(stream);
  return differs != 0;
}

}  // namespace kw::suite
