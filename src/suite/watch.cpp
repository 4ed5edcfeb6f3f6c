// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/watch.hpp"

#include <algorithm>
#include <cmath>

namespace kw::suite {
namespace {

constexpr double kHeldBack = 0.01, kClockDrift = 0.02;
// NVML's clock event reasons. The hardware's slowdown itself (0x8) comes with one of these.
constexpr std::uint64_t kPowerReasons = 0x4 | 0x80, kThermalReasons = 0x20 | 0x40;

}  // namespace

void add_flags_of_block(Timing& timing) {
  if (!timing.before || !timing.after) return;
  const runtime::DeviceReading &before = *timing.before, &after = *timing.after;
  const auto held_back = [&](const std::optional<double>& from, const std::optional<double>& to,
                             std::uint64_t reasons) {
    if (from && to && *to - *from > kHeldBack * timing.seconds * 1e9) return true;
    return (after.clock_event_reasons.value_or(0) & reasons) != 0;
  };
  if (held_back(before.power_violation_ns, after.power_violation_ns, kPowerReasons))
    timing.flags.emplace_back("power_limited");
  if (held_back(before.thermal_violation_ns, after.thermal_violation_ns, kThermalReasons))
    timing.flags.emplace_back("thermal");
  if (before.sm_mhz && after.sm_mhz && *before.sm_mhz > 0 &&
      std::fabs(*after.sm_mhz / *before.sm_mhz - 1) > kClockDrift)
    timing.flags.emplace_back("clock_drift");
  if (std::max(before.other_processes.value_or(0), after.other_processes.value_or(0)) > 0)
    timing.flags.emplace_back("shared_gpu");
}

}  // namespace kw::suite
