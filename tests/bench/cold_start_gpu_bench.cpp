// SPDX-License-Identifier: Apache-2.0
// What the first kernels of a process cost, in the order in which a process pays:
//   kw_cold_start_gpu_bench [PROBLEM PROBLEM]
// Run it twice with one fresh KW_CACHE_DIR: the first run compiles (NVRTC is opened, hashed and
// asked twice), the second finds both on disk. One line of JSON on standard output, milliseconds;
// the last figures are compile times as multiples of an empty kernel's.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernelwright/backend/cuda/cuda_device.hpp"
#include "kernelwright/backend/cuda/cuda_toolchain.hpp"
#include "kernelwright/core/context.hpp"
#include "kernelwright/jit/plan.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/suite/device_kernels.hpp"

namespace kw {
namespace {

constexpr int kSamples = 5;

using Clock = std::chrono::steady_clock;

template <typename Work>
double milliseconds(const Work& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

nlohmann::json measure(const std::string& first, const std::string& next) {
  nlohmann::json report;
  std::unique_ptr<runtime::CudaDevice> device;
  report["open_device_ms"] =
      milliseconds([&] { device = std::make_unique<runtime::CudaDevice>(0); });
  std::unique_ptr<Context> context;
  report["resolve_ms"] = milliseconds(
      [&] { context = std::make_unique<Context>(builtin_catalog(), Settings{}, *device); });
  jit::Session& session = jit::Session::process();
  const auto prepare = [&](const char* name, const std::string& text) {
    const Problem problem = parse_problem(text, builtin_catalog());
    const std::int64_t before = session.counters().compiled;
    report[std::string(name) + "_ms"] = milliseconds([&] { context->prepare(problem); });
    report[std::string(name) + "_compiled"] = session.counters().compiled - before;
  };
  prepare("first", first);
  prepare("next", next);
  // Without a cache, the compiler open and hashed: what a unit costs beside an empty one. A comment
  // makes every sample a source of its own.
  jit::Session uncached{jit::SessionOptions{}};
  const auto compile_ms = [&](const jit::Unit& unit) {
    std::vector<double> samples;
    for (int i = 0; i <= kSamples; ++i) {
      jit::Unit sample = unit;
      sample.source += "// sample " + std::to_string(i) + "\n";
      const double ms = milliseconds([&] { uncached.compile(jit::cuda_toolchain(), sample); });
      if (i > 0) samples.push_back(ms);
    }
    std::sort(samples.begin(), samples.end());
    return samples[kSamples / 2];
  };
  const double empty = compile_ms(suite::empty_unit(jit::cuda_arch(device->hardware())));
  report["empty_compile_ms"] = empty;
  for (const auto& plan : session.plans_on(*device)) {
    const double ms = compile_ms(plan->unit());
    nlohmann::json row = {{"entry", plan->unit().entry}, {"ms", ms}, {"empties", ms / empty}};
    for (const auto& [name, value] : plan->info()) {
      if (name == "find_ms" || name == "load_ms" || name == "image_bytes") row[name] = value;
    }
    report["compile"].push_back(std::move(row));
  }
  return report;
}

}  // namespace
}  // namespace kw

int main(int argc, char** argv) {
  const std::string first =
      argc > 1 ? argv[1] : "rms_norm/qwen3_5 x=bf16[16,7168] weight=bf16[7168]";
  const std::string next =
      argc > 2 ? argv[2] : "rms_norm/qwen3_5 x=bf16[16,4096] weight=bf16[4096]";
  try {
    std::puts(kw::measure(first, next).dump().c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kw_cold_start_gpu_bench: %s\n", error.what());
    return 4;
  }
}
