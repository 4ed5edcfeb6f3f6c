// SPDX-License-Identifier: Apache-2.0
// What kw finds on this machine, what it does not, and what to do about it, as a value and as JSON.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "kernelwright/capi/system_facts.hpp"
#include "kernelwright/core/environment.hpp"
#include "kernelwright/core/hardware.hpp"
#include "kernelwright/jit/cache.hpp"
#include "kernelwright/runtime/memory.hpp"

namespace kw::capi {

struct Finding {
  bool fatal = false;  // calls will fail; else a warning
  std::string what, fix;
};

struct Absence {
  std::string what, reason;
};

// Stored proof of numerics.
struct EvidenceFacts {
  std::string directory;
  int stored = 0, damaged = 0;
  int of_this_machine = 0;  // a device that is here, its driver and this suite; of any code
  bool required = false;    // by the settings of this process, once it is initialised
  std::string origin;       // who says so
};

struct Diagnosis {
  std::optional<Hardware> cpu;  // nothing: it could not be opened, and a problem says why
  runtime::MemoryInfo memory;
  std::vector<Hardware> cuda;
  std::vector<std::string> cuda_archs;            // what is compiled for each of them
  std::string cuda_compiler, cuda_compiler_path;  // "": there is none
  std::vector<jit::CacheStats::Root> kernel_caches;
  std::string kernel_cache_state;  // of the user's: "writable", "read only", or what is wrong
  EvidenceFacts evidence;
  std::vector<CacheFact> caches;
  std::vector<EnvironmentRow> environment;
  std::vector<std::string> libraries;
  std::vector<Absence> absent;
  std::vector<Finding> problems;

  bool fatal() const {
    return std::any_of(problems.begin(), problems.end(), [](const Finding& p) { return p.fatal; });
  }
};

// Whether looking may resolve, and so end registration.
enum class Resolving { kAllowed, kIfFrozen };
Diagnosis diagnose(Resolving resolving);

// kw.doctor/1.
std::string doctor_json(const Diagnosis& diagnosis);

}  // namespace kw::capi
