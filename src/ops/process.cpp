// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/ops/process.hpp"

#include <map>
#include <memory>
#include <mutex>

#include "kernelwright/backend/cpu/cpu_device.hpp"
#include "kernelwright/backend/cuda/cuda_device.hpp"
#include "kernelwright/base/fail.hpp"
#include "kernelwright/ops/catalog.hpp"

namespace kw {
namespace {

struct Process {
  std::mutex mutex;  // guards both maps
  std::map<std::pair<DeviceKind, int>, std::unique_ptr<runtime::Device>> devices;
  std::map<DeviceKind, std::unique_ptr<Context>> contexts;  // beside the default one
};

Process& process() {
  static auto* const value = new Process;
  return *value;
}

}  // namespace

std::unique_ptr<runtime::Device> open_device(runtime::DeviceName name) {
  switch (name.kind) {
    case DeviceKind::kCpu:
      return std::make_unique<runtime::CpuDevice>();
    case DeviceKind::kCuda:
      return std::make_unique<runtime::CudaDevice>(name.index);
    case DeviceKind::kNpu:
      break;
  }
  fail(Code::kEnvironment,
       "device '{}': this build has no {} backend; it has cpu and cuda. `kw doctor` says what is "
       "there",
       runtime::device_name_text(name), device_kind_name(name.kind));
}

runtime::Device& process_device(std::string_view name) {
  if (name != "auto") return process_device(runtime::parse_device_name(name));
  return process_device(
      {runtime::cuda_devices().empty() ? DeviceKind::kCpu : DeviceKind::kCuda, 0});
}

runtime::Device& process_device(runtime::DeviceName name) {
  const std::lock_guard lock(process().mutex);
  auto& device = process().devices[{name.kind, name.index}];
  if (device == nullptr) device = open_device(name);
  return *device;
}

Context& process_context(runtime::DeviceName name) {
  Context* const standard = Context::process_default();
  if (standard == nullptr) {
    fail(Code::kConflict,
         "kernelwright is not initialised in this process; call initialize() first, which chooses "
         "device and implementations once");
  }
  if (standard->bindings().hardware.kind == name.kind) return *standard;
  runtime::Device& device = process_device(name);
  const std::lock_guard lock(process().mutex);
  auto& context = process().contexts[name.kind];
  if (context == nullptr) {
    context = std::make_unique<Context>(builtin_catalog(), standard->settings(), device);
  }
  return *context;
}

Context& process_context(std::string_view device) {
  Context* const standard = Context::process_default();
  // Before a device is opened for a process that is not initialised.
  if (standard == nullptr) process_context(runtime::DeviceName{});  // throws
  if (device.empty()) return *standard;
  const Hardware& hardware = process_device(device).hardware();
  return process_context(runtime::DeviceName{hardware.kind, hardware.index});
}

}  // namespace kw
