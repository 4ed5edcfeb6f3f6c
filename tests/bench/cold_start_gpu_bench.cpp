// SPDX-License-Identifier: Apache-2.0
// What the first kernels of a process cost, in the order in which a process pays:
//   kw_cold_start_gpu_bench [PROBLEM PROBLEM]
// Run it twice with one fresh KW_CACHE_DIR: the first run compiles (NVRTC is opened, hashed and
// asked twice), the second finds both on disk. One line of JSON on standard output, milliseconds.
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

#include <nlohmann/json.hpp>

#include "kernelwright/backend/cuda/cuda_device.hpp"
#include "kernelwright/backend/cuda/cuda_toolchain.hpp"
#include "kernelwright/core/context.hpp"
#include "kernelwright/jit/plan.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/suite/device_kernels.hpp"

namespace kw {
namespace {

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
  // Without a cache: the least that a compilation takes here, to divide the others by.
  jit::Session uncached{jit::SessionOptions{}};
  const jit::Unit empty = suite::empty_unit(jit::cuda_arch(device->hardware()));
  report["empty_compile_ms"] =
      milliseconds([&] { uncached.compile(jit::cuda_toolchain(), empty); });
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
