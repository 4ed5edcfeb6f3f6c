// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/backend/cuda/nvml_monitor.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "kernelwright/backend/cuda/cuda_device.hpp"

namespace kw::runtime {
namespace {

// Values and layouts are the library's ABI.
using Device = struct OpaqueNvmlDevice*;
using Result = int;
constexpr Result kSuccess = 0, kInsufficientSize = 7;
constexpr int kSmClock = 1, kMemoryClock = 2, kGpuTemperature = 0;
constexpr int kPowerPolicy = 0, kThermalPolicy = 1;
struct Violation {
  unsigned long long reference_us, violation_ns;
};

struct Nvml {
  Result (*init)();
  Result (*shutdown)();
  const char* (*error_string)(Result);
  Result (*driver_version)(char*, unsigned);
  Result (*library_version)(char*, unsigned);
  Result (*device_by_bus)(const char*, Device*);
  Result (*clock)(Device, int, unsigned*);
  Result (*temperature)(Device, int, unsigned*);
  Result (*power)(Device, unsigned*);
  Result (*power_limit)(Device, unsigned*);
  Result (*event_reasons)(Device, unsigned long long*);
  Result (*violation)(Device, int, Violation*);
  Result (*energy)(Device, unsigned long long*);
  Result (*processes)(Device, unsigned*, void*);
};

// The first of `names` that there is: newer libraries renamed some functions and kept the old ones.
template <typename Function>
void find(void* library, Function*& function, std::initializer_list<const char*> names) {
  function = nullptr;
  for (const char* name : names) {
    if (function == nullptr) function = reinterpret_cast<Function*>(::dlsym(library, name));
  }
}

void find_all(void* library, Nvml& nvml) {
  find(library, nvml.init, {"nvmlInit_v2"});
  find(library, nvml.shutdown, {"nvmlShutdown"});
  find(library, nvml.error_string, {"nvmlErrorString"});
  find(library, nvml.driver_version, {"nvmlSystemGetDriverVersion"});
  find(library, nvml.library_version, {"nvmlSystemGetNVMLVersion"});
  find(library, nvml.device_by_bus, {"nvmlDeviceGetHandleByPciBusId_v2"});
  find(library, nvml.clock, {"nvmlDeviceGetClockInfo"});
  find(library, nvml.temperature, {"nvmlDeviceGetTemperature"});
  find(library, nvml.power, {"nvmlDeviceGetPowerUsage"});
  find(library, nvml.power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  find(library, nvml.event_reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  find(library, nvml.violation, {"nvmlDeviceGetViolationStatus"});
  find(library, nvml.energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  find(library, nvml.processes,
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
}

class NvmlMonitor final : public Monitor {
 public:
  NvmlMonitor(const std::string& bus_address, const char* library) {
    absence_ = open(bus_address, library);
  }
  explicit NvmlMonitor(std::string absence) : absence_(std::move(absence)) {}
  NvmlMonitor(const NvmlMonitor&) = delete;
  NvmlMonitor& operator=(const NvmlMonitor&) = delete;
  ~NvmlMonitor() override {
    if (started_ && nvml_.shutdown != nullptr) nvml_.shutdown();
    if (library_ != nullptr) ::dlclose(library_);
  }

  DeviceReading read() override {
    DeviceReading reading;
    if (device_ == nullptr) return reading;
    reading.sm_mhz = value(nvml_.clock, kSmClock);
    reading.memory_mhz = value(nvml_.clock, kMemoryClock);
    reading.temperature_c = value(nvml_.temperature, kGpuTemperature);
    reading.watts = value(nvml_.power, 1e-3);
    reading.limit_watts = value(nvml_.power_limit, 1e-3);
    reading.energy_millijoules = value(nvml_.energy, 1.0);
    reading.power_violation_ns = violation(kPowerPolicy);
    reading.thermal_violation_ns = violation(kThermalPolicy);
    unsigned long long reasons = 0;
    if (nvml_.event_reasons != nullptr && nvml_.event_reasons(device_, &reasons) == kSuccess)
      reading.clock_event_reasons = reasons;
    reading.other_processes = other_processes();
    return reading;
  }

  std::vector<std::pair<std::string, std::string>> facts() const override {
    if (!absence_.empty()) return {{"nvml", absence_}};
    std::vector<std::pair<std::string, std::string>> facts;
    const auto add = [&](const char* name, Result (*function)(char*, unsigned)) {
      char text[96] = "";
      if (function != nullptr && function(text, sizeof text) == kSuccess)
        facts.emplace_back(name, text);
    };
    add("nvml", nvml_.library_version);
    add("driver", nvml_.driver_version);
    if (const auto limit = value(nvml_.power_limit, 1e-3))
      facts.emplace_back("power_limit_watts", fmt::format("{:.0f}", *limit));
    return facts;
  }

 private:
  std::string open(const std::string& bus_address, const char* library) {
    library_ = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
      const char* why = ::dlerror();
      return fmt::format("no readings of clocks and power: {}", why == nullptr ? library : why);
    }
    find_all(library_, nvml_);
    if (nvml_.init == nullptr || nvml_.device_by_bus == nullptr)
      return fmt::format(
          "no readings of clocks and power: {} lacks nvmlInit_v2 or "
          "nvmlDeviceGetHandleByPciBusId_v2",
          library);
    if (const Result result = nvml_.init(); result != kSuccess)
      return fmt::format("no readings of clocks and power: nvmlInit_v2: {}", describe(result));
    started_ = true;
    if (const Result result = nvml_.device_by_bus(bus_address.c_str(), &device_);
        result != kSuccess) {
      device_ = nullptr;
      return fmt::format("no readings of clocks and power: device {}: {}", bus_address,
                         describe(result));
    }
    return {};
  }

  std::string describe(Result result) const {
    const char* text = nvml_.error_string == nullptr ? nullptr : nvml_.error_string(result);
    return text == nullptr ? fmt::format("NVML error {}", result) : text;
  }

  // What `function` reports times `unit`; nullopt where it is missing or refuses.
  template <typename Value>
  std::optional<double> value(Result (*function)(Device, Value*), double unit) const {
    Value result = 0;
    if (function == nullptr || function(device_, &result) != kSuccess) return std::nullopt;
    return unit * static_cast<double>(result);
  }
  std::optional<double> value(Result (*function)(Device, int, unsigned*), int which) const {
    unsigned result = 0;
    if (function == nullptr || function(device_, which, &result) != kSuccess) return std::nullopt;
    return result;
  }

  std::optional<double> violation(int policy) const {
    Violation result{};
    if (nvml_.violation == nullptr || nvml_.violation(device_, policy, &result) != kSuccess)
      return std::nullopt;
    return static_cast<double>(result.violation_ns);
  }

  // Asked with no room for answers, the library says how many there are. Ours is one of them, in a
  // process namespace in which its number may be another.
  std::optional<int> other_processes() const {
    unsigned count = 0;
    if (nvml_.processes == nullptr) return std::nullopt;
    const Result result = nvml_.processes(device_, &count, nullptr);
    if (result != kSuccess && result != kInsufficientSize) return std::nullopt;
    return std::max(static_cast<int>(count) - 1, 0);
  }

  void* library_ = nullptr;
  Nvml nvml_{};
  bool started_ = false;
  Device device_ = nullptr;
  std::string absence_;
};

}  // namespace

std::shared_ptr<Monitor> open_nvml_monitor(const std::string& bus_address, const char* library) {
  return std::make_shared<NvmlMonitor>(bus_address, library);
}

std::shared_ptr<Monitor> open_cuda_monitor(int index) {
  const std::string bus_address = cuda_bus_address(index);
  if (bus_address.empty()) {
    return std::make_shared<NvmlMonitor>(
        "no readings of clocks and power: the driver does not tell the device's bus address");
  }
  return open_nvml_monitor(bus_address, "libnvidia-ml.so.1");
}

}  // namespace kw::runtime
