// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/hardware.hpp"

#include "kernelwright/base/fail.hpp"

namespace kw {

std::string_view device_kind_name(DeviceKind kind) noexcept {
  switch (kind) {
    case DeviceKind::kCpu:
      return "cpu";
    case DeviceKind::kCuda:
      return "cuda";
    case DeviceKind::kNpu:
      return "npu";
  }
  return "unknown";
}

std::string_view mode_name(Mode mode) noexcept { return mode == Mode::kEager ? "eager" : "graph"; }

// The names are few and short: the list says more than a nearest name ("gpu" is nearest to "cpu").
DeviceKind parse_device_kind(std::string_view name) {
  for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kCuda, DeviceKind::kNpu}) {
    if (name == device_kind_name(kind)) return kind;
  }
  fail(Code::kNotFound, "unknown kind of device '{}'; known: cpu, cuda, npu", name);
}

Mode parse_mode(std::string_view name) {
  for (const Mode mode : {Mode::kEager, Mode::kGraph}) {
    if (name == mode_name(mode)) return mode;
  }
  fail(Code::kNotFound, "unknown mode '{}'; known: eager, graph", name);
}

std::string capability_text(DeviceKind kind, int capability) {
  constexpr std::string_view kCpuLevels[] = {"baseline", "avx2", "avx512"};
  if (kind == DeviceKind::kCuda) return fmt::format("sm_{}", capability);
  if (kind == DeviceKind::kCpu && capability >= 1 && capability <= 3) {
    return fmt::format("{} ({})", capability, kCpuLevels[capability - 1]);
  }
  return std::to_string(capability);
}

}  // namespace kw
