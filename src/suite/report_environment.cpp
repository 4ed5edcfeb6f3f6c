// SPDX-License-Identifier: Apache-2.0
// Facts about the machine that a reader of figures needs. No host name, user name or path.
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <ctime>
#include <fstream>

#include <fmt/core.h>

#include "kernelwright/base/text.hpp"
#include "kernelwright/suite/report.hpp"

namespace kw::suite {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string build_text() {
  std::string text =
#if defined(__clang__)
      "clang " __clang_version__;
#else
      "g++ " __VERSION__;
#endif
#if defined(__OPTIMIZE__)
  text += ", optimised";
#else
  text += ", not optimised";
#endif
#if defined(__SANITIZE_ADDRESS__)
  text += ", address sanitizer";
#elif defined(__SANITIZE_THREAD__)
  text += ", thread sanitizer";
#endif
  return text;
}

}  // namespace

Facts describe_environment(const runtime::Device& device) {
  Facts facts;
  const Hardware& hardware = device.hardware();
  facts.emplace_back("device", device.name());
  facts.emplace_back("model", hardware.model);
  facts.emplace_back("capability", capability_text(hardware.kind, hardware.capability));
  facts.emplace_back(hardware.kind == DeviceKind::kCpu ? "threads" : "multiprocessors",
                     std::to_string(hardware.units));
  facts.emplace_back("last_level_cache_bytes", std::to_string(hardware.last_level_cache_bytes));
  facts.emplace_back("features", join(hardware.features, " "));
  facts.emplace_back("memory_bytes", std::to_string(device.memory_info().total_bytes));
  utsname system{};
  if (uname(&system) == 0)
    facts.emplace_back("system",
                       fmt::format("{} {} {}", system.sysname, system.release, system.machine));
  facts.emplace_back("libc", std::string("glibc ") + gnu_get_libc_version());
  facts.emplace_back("compiler", build_text());
  if (const std::string load = first_line("/proc/loadavg"); !load.empty())
    facts.emplace_back("load_average", load.substr(0, load.find(' ')));
  if (const std::string governor =
          first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
      !governor.empty())
    facts.emplace_back("governor", governor);
  return facts;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace kw::suite
