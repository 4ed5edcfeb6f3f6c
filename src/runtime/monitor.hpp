// SPDX-License-Identifier: Apache-2.0
// What a device says about itself while it works: clocks, temperature, power, who else uses it.
// Read only; nothing here changes a clock or a limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kw::runtime {

// A moment of a device; empty where it does not tell.
struct DeviceReading {
  std::optional<double> sm_mhz, memory_mhz, temperature_c, watts, limit_watts;
  std::optional<std::uint64_t> clock_event_reasons;  // NVML's mask; 0x4: software power cap
  // Since the driver was loaded: time held back by the power limit and by heat, and energy.
  std::optional<double> power_violation_ns, thermal_violation_ns, energy_millijoules;
  std::optional<int> other_processes;  // with a context on the device, this one apart
};

class Monitor {
 public:
  virtual ~Monitor() = default;
  virtual DeviceReading read() = 0;
  // Names and values for reports: versions and limits, or why there are no readings.
  virtual std::vector<std::pair<std::string, std::string>> facts() const = 0;
};

}  // namespace kw::runtime
