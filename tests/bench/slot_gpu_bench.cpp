// SPDX-License-Identifier: Apache-2.0
// What stands between a slot call and the driver's launch, layer by layer:
//   kw_slot_gpu_bench [ROUNDS]
// Each layer takes turns with the raw launch of the same kernel. One line of JSON on standard
// output: medians of the raw launch and of what the layer adds to it, in nanoseconds.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernelwright/backend/cuda/cuda_device.hpp"
#include "kernelwright/backend/cuda/cuda_toolchain.hpp"
#include "kernelwright/core/arguments.hpp"
#include "kernelwright/core/binding.hpp"
#include "kernelwright/core/slot.hpp"
#include "kernelwright/jit/plan.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/ops/rms_norm/contract.hpp"
#include "kernelwright/runtime/device.hpp"
#include "kernelwright/runtime/graph.hpp"
#include "kernelwright/runtime/raw_launches.hpp"
#include "kernelwright/runtime/stream.hpp"
#include "kernelwright/suite/device_kernels.hpp"
#include "kernelwright/suite/statistics.hpp"

namespace kw {
namespace {

constexpr int kCalls = 64;  // of one sample; a queue holds 1024
constexpr std::int64_t kRows = 16, kHidden = 4096;

// A way to make a launch, and the same launch by the driver alone.
struct Layer {
  std::string name;
  std::function<Status()> call;
  std::unique_ptr<runtime::Graph> graph;
  std::vector<double> raw, added;  // nanoseconds a call
};

runtime::RawLaunches& raw_of(Layer& layer) {
  return dynamic_cast<runtime::RawLaunches&>(*layer.graph);
}

nlohmann::json measure(int rounds) {
  using ops::rms_norm::Args;
  runtime::CudaDevice device(0);
  Context context(builtin_catalog(), Settings{}, device);
  OpSlot slot("rms_norm", "standard");
  SlotSet slots{&slot};
  context.bind(slots);

  const runtime::OwnedStream stream(device);
  const runtime::Buffer x(device, kRows * kHidden * 2), y(device, kRows * kHidden * 2),
      weight(device, kHidden * 2);
  for (const runtime::Buffer* buffer : {&x, &y, &weight})
    device.fill(buffer->data(), 0, buffer->bytes(), nullptr);
  Args args;
  args.x = TensorView(x.data(), DType::kBF16, {kRows, kHidden});
  args.y = TensorView(y.data(), DType::kBF16, {kRows, kHidden});
  args.weight = TensorView(weight.data(), DType::kBF16, {kHidden});
  const Stream where{&device, stream.handle()};
  slot(args, where);

  suite::DeviceKernels kernels(device, jit::cuda_toolchain(), jit::cuda_arch(device.hardware()));
  const jit::Plan& empty = kernels.empty_kernel();
  Binding& binding = context.binding("rms_norm", "standard");
  Key key;
  inspect_call(Args::contract(), &args, device.hardware().index, key);
  const FoundCall found = binding.find_call(key);
  if (found.call == nullptr) throw std::logic_error("the call just made is not remembered");

  std::vector<Layer> layers;
  const auto add = [&](const char* name, std::function<Status()> call) {
    throw_if_failed(call());
    runtime::Capture capture(device, stream.handle());
    throw_if_failed(call());
    layers.push_back({name, std::move(call), capture.finish(), {}, {}});
  };
  const std::uint64_t argument = 0;
  add("empty_kernel",
      [&] { return empty.launch({}, &argument, sizeof argument, stream.handle()); });
  add("implementation", [&] { return binding.launch(*found.call, &args, device, where); });
  add("slot", [&] { return slot.try_call(args, where); });

  const auto nanoseconds = [&](const auto& call) {
    device.synchronize(stream.handle());
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    return spent.count() / kCalls;
  };
  const auto current = raw_of(layers.front()).make_current();
  for (int round = -20; round < rounds; ++round) {
    for (Layer& layer : layers) {
      runtime::RawLaunches& launches = raw_of(layer);
      double raw = 0, call = 0;
      const auto time_raw = [&] {
        raw = nanoseconds([&] { launches.launch_kernels(stream.handle()); });
      };
      if (round % 2 == 0) time_raw();
      call = nanoseconds([&] { throw_if_failed(layer.call()); });
      if (round % 2 != 0) time_raw();
      if (round < 0) continue;  // clocks and caches settle
      layer.raw.push_back(raw);
      layer.added.push_back(call - raw);
    }
  }
  nlohmann::json report{{"rounds", rounds}};
  for (const Layer& layer : layers) {
    report[layer.name] = {{"raw_ns", suite::median_of(layer.raw)},
                          {"added_ns", suite::median_of(layer.added)}};
  }
  return report;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) {
  try {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 1000;
    if (rounds < 1) throw std::invalid_argument("ROUNDS is a number from 1");
    std::puts(kw::measure(rounds).dump().c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kw_slot_gpu_bench: %s\n", error.what());
    return 4;
  }
}
