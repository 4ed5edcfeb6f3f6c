// SPDX-License-Identifier: Apache-2.0
// Page guards on a device, where a fault ends the whole process's use of it: calls in a worker
// process, in memory between addresses where nothing is.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernelwright/base/fork_server.hpp"
#include "kernelwright/suite/case.hpp"
#include "kernelwright/suite/request.hpp"

namespace kw::suite {

struct GuardedCall;

class DevicePages {
 public:
  // Called in a worker: where it makes calls, valid until the next one. `context` is that of use().
  using Open = std::function<const Platform&(const std::string& context)>;

  // Forks a process, so before the driver of the device starts and before there are threads. Throws
  // Error(kEnvironment).
  explicit DevicePages(Open open);

  // What workers are told from now on; at first "".
  void use(std::string context) { context_ = std::move(context); }

  // Runs the case on the implementation twice: every tensor directly before a missing page, then
  // directly behind one, as near as its alignment allows. What went wrong, or nothing; refusals are
  // left to others. A fault is explained by further calls with none or one of the tensors at a
  // page. Throws Error(kEnvironment) when no worker can make calls.
  std::optional<CheckResult> check(const Case& spec, const std::string& implementation,
                                   const CfgPins& pins);

 private:
  // What a call came to.
  struct Outcome {
    bool timed_out = false;
    std::string fault;  // the driver's words; empty: none
    std::string write;  // where outside of every tensor; empty: nowhere
  };
  Outcome ask(const GuardedCall& call);
  // `names`: of the blocks.
  CheckResult explain(GuardedCall call, const std::vector<std::string>& names,
                      const std::string& fault);

  ForkServer server_;
  std::string context_;
};

// Bytes of all tensors, gaps included, up to which a call is guarded.
inline constexpr double kGuardedBytes = 256e6;
// Whether the problem is small enough.
bool can_guard(const Problem& problem);

}  // namespace kw::suite
