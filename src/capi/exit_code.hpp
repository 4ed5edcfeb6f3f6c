// SPDX-License-Identifier: Apache-2.0
// What a `kw` process says with its exit status, and the one place that maps errors to it.
#pragma once

#include "kernelwright/base/error.hpp"

namespace kw::capi {

// Stable: scripts and CI rely on them.
enum class ExitCode : int {
  kPassed = 0,
  kCheckFailed = 1,    // something ran and was wrong
  kUsage = 2,          // unknown names, values out of range, requests that contradict themselves
  kNothingPassed = 3,  // nothing was selected, nothing serves it, or no case passed
  kEnvironment = 4,    // device, compiler, files, rights
  kInternal = 5,       // a defect of kw
  kInterrupted = 130,  // by SIGINT or SIGTERM; what was done until then is in the report
};

// kUnsupported counts as a mismatch: the request names what this build or device does not serve.
constexpr ExitCode exit_code(Code code) noexcept {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kUnsupported:
    case Code::kConflict:
      return ExitCode::kUsage;
    case Code::kEnvironment:
      return ExitCode::kEnvironment;
    case Code::kInternal:
      break;
  }
  return ExitCode::kInternal;
}

}  // namespace kw::capi
