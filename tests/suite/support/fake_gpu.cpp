// SPDX-License-Identifier: Apache-2.0
#include "suite/support/fake_gpu.hpp"

#include <cstring>
#include <deque>
#include <map>
#include <memory>

#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/selftest/probe.hpp"

namespace kw::test {
namespace {

DType dtype_of(kit::FillType type) {
  return *parse_dtype(kit::kFillTypeNames[static_cast<std::size_t>(type)]);
}

// Element by element from the shared description, with the walk of the strided kernel.
void fill_elements(const kit::FillCfg& cfg, const kit::FillArgs& args) {
  const DType dtype = dtype_of(cfg.type);
  const auto bytes = static_cast<long long>(dtype_bytes(dtype));
  for (long long element = 0; element < args.count; ++element) {
    long long rest = element, offset = 0, index = 0;
    for (int d = args.rank - 1; d >= 0; --d) {
      offset += rest % args.sizes[d] * args.strides[d];
      index += rest % args.sizes[d] * args.index_strides[d];
      rest /= args.sizes[d];
    }
    if (cfg.dense) offset = index = element;
    const auto counter = static_cast<unsigned long long>(index) / 4;
    double value = 0;
    if (kit::uses_words(cfg.fill, cfg.type)) {
      unsigned words[4];
      kit::fill_words<1>(args.rule.key, counter, words);
      value = kit::word_value(cfg.fill, cfg.type, args.rule, words[index % 4]);
    } else {
      int normals[4];
      kit::fill_normals<1>(args.rule.key, counter, normals);
      value = kit::normal_value(cfg.fill, cfg.type, args.rule, normals[index % 4], index);
    }
    suite::store_element(dtype, static_cast<std::byte*>(args.data) + offset * bytes, value);
  }
}

struct Self {
  FakeDevice* device;
  GraphSabotage sabotage;
  std::function<double()> ns;
  std::shared_ptr<std::map<const void*, std::vector<double>>> answers =
      std::make_shared<std::map<const void*, std::vector<double>>>();  // by output
};

void affine(const suite::AffineArgs& args, const std::vector<double>& x,
            const std::vector<double>& gain, bool wrong_far) {
  std::vector<double> y(x.size()), total(gain.size(), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = static_cast<float>(x[i]) * static_cast<float>(gain[i % gain.size()]) +
           static_cast<float>(args.bias);
    if (wrong_far && i / gain.size() >= 200) y[i] *= 1.5;
    total[i % gain.size()] += x[i];
  }
  suite::write_elements(args.y, y);
  if (args.total.present()) suite::write_elements(args.total, total);
}

Status launch(const void* plan, const void* raw, const LaunchFrame& frame) noexcept {
  const Self self = *static_cast<const Self*>(plan);
  const suite::AffineArgs args = *static_cast<const suite::AffineArgs*>(raw);
  const std::vector<double> x = suite::read_elements(args.x),
                            gain = suite::read_elements(args.gain);
  return self.device->enqueue(
      frame.stream,
      [=, runs = std::make_shared<int>(0)] {
        if (self.sabotage == GraphSabotage::kRunsOnce && (*runs)++ > 0) return;
        std::vector<double>& answer = (*self.answers)[args.y.data];
        if (self.sabotage == GraphSabotage::kRemembers &&
            static_cast<std::int64_t>(answer.size()) == args.y.numel())
          return suite::write_elements(args.y, answer);
        const bool keeps = self.sabotage == GraphSabotage::kKeepsValues;
        affine(args, keeps ? x : suite::read_elements(args.x),
               keeps ? gain : suite::read_elements(args.gain),
               self.sabotage == GraphSabotage::kWrongFarSlice);
        if (self.sabotage == GraphSabotage::kRemembers) answer = suite::read_elements(args.y);
      },
      self.ns ? self.ns() : FakeDevice::kKernelNs);
}

}  // namespace

void define_suite_kernels(FakeDevice& device) {
  for (int fill = 0; fill <= static_cast<int>(kit::Fill::kInfElem); ++fill) {
    for (int type = 0; type <= static_cast<int>(kit::FillType::kBool); ++type) {
      for (const bool dense : {false, true}) {
        const kit::FillCfg cfg{static_cast<kit::Fill>(fill), static_cast<kit::FillType>(type),
                               dense};
        device.define_kernel(suite::fill_unit(cfg, "fake").entry,
                             [cfg](const runtime::LaunchShape&, const void* args) {
                               fill_elements(cfg, *static_cast<const kit::FillArgs*>(args));
                             });
      }
    }
  }
  device.define_kernel(suite::compare_unit({}, "fake").entry,
                       [](const runtime::LaunchShape&, const void* raw) {
                         const auto& args = *static_cast<const kit::CompareArgs*>(raw);
                         const auto bytes = static_cast<std::size_t>(args.words) * 8;
                         if (std::memcmp(args.first, args.second, bytes) != 0) *args.differs = 1;
                       });
  device.define_kernel(suite::empty_unit("fake").entry,
                       [](const runtime::LaunchShape&, const void*) {});
}

Implementation gpu_affine(FakeDevice& device, GraphSabotage sabotage, std::function<double()> ns) {
  Implementation implementation = suite::probe_affine(suite::Sabotage::kNone);
  implementation.info.name = "cuda.toy.affine";
  implementation.info.device = DeviceKind::kCuda;
  implementation.info.batch_invariant = false;
  implementation.info.variants = {"one"};
  // For the life of the process; implementations hold a bare pointer.
  static std::deque<Self> selves;
  implementation.self = &selves.emplace_back(Self{&device, sabotage, std::move(ns)});
  ImplementationFunctions& f = implementation.functions;
  f.supports = [](void*, const Problem& problem, const Hardware&) -> std::optional<Rejection> {
    if (problem.dtype("T") != DType::kF64) return std::nullopt;
    return Rejection{Rejection::Code::kDType, "f64 is for the oracle"};
  };
  f.workspace = [](void*, const Problem&) { return WorkspaceSize{}; };
  f.prepare = [](void* self, PrepareRequest&) -> void* {
    return new Self(*static_cast<const Self*>(self));
  };
  f.launch = launch;
  f.destroy = [](void* plan) noexcept { delete static_cast<Self*>(plan); };
  return implementation;
}

GpuWorld::GpuWorld(const FakeDeviceOptions& options)
    : device(options),
      headers(std::map<std::string, std::string>{{"kernelwright/kit/cuda/fill.cuh", ""}}) {
  define_suite_kernels(device);
  jit::SessionOptions session_options;
  session_options.headers = &headers;
  session = std::make_unique<jit::Session>(session_options);
  kernels = std::make_shared<suite::DeviceKernels>(device, toolchain, "fake", *session);
  suite::add_probes(catalog);
}

}  // namespace kw::test
