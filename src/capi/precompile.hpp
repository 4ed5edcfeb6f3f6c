// SPDX-License-Identifier: Apache-2.0
// Compiling what problems need on architectures, whether or not such devices are here, on several
// threads: every problem is prepared on a device that only compiles.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernelwright/base/error.hpp"
#include "kernelwright/capi/exit_code.hpp"
#include "kernelwright/core/settings.hpp"
#include "kernelwright/jit/plan.hpp"
#include "kernelwright/runtime/compile_only_device.hpp"

namespace kw::capi {

struct PrecompileRequest {
  std::vector<Problem> problems;  // free dimensions are welcome
  bool from_batch = false;        // then what nothing serves is no error
  std::vector<Hardware> architectures;
  Settings settings;
  CfgPins pins;
  std::string pack;  // a directory that gets the kernels, too; "": none
  // One line when another problem is done. From several threads, one at a time.
  std::function<void(std::string_view)> progress;
};

struct PrecompileTask {
  const Problem* problem = nullptr;  // of the request
  const runtime::Device* device = nullptr;
  std::string arch;
  std::string implementation;  // "": nothing serves it
  std::string error;           // "": prepared
  std::optional<Code> code;    // of the error of an implementation
};

struct PrecompileReport {
  std::vector<std::unique_ptr<runtime::CompileOnlyDevice>> devices;  // outlive the plans
  std::vector<std::shared_ptr<const jit::Plan>> plans;  // by architecture, then name of entry
  std::vector<PrecompileTask> tasks;                    // by architecture, then problem
  double seconds = 0;
  ExitCode exit_code = ExitCode::kPassed;

  std::int64_t compiled() const noexcept;  // those that no layer of the cache held
};

// Freezes the catalog. Throws Error before anything is compiled when the cache cannot be written;
// an error of one problem is its task's. `request` must outlive the report.
PrecompileReport precompile(const PrecompileRequest& request);

// kw.precompile/1.
std::string precompile_json(const PrecompileReport& report);

// What `names` stand for, else KW_ARCH, else the devices that are here. `source` names the flag or
// field in messages: "--arch".
std::vector<Hardware> target_architectures(std::vector<std::string> names, std::string_view source);

// The problems of a batch (smoke, ci, full or a file) of `operation` and `variant`, "" standing for
// every one. Throws Error(kNotFound) when there are none.
std::vector<Problem> problems_of_batch(const Catalog& catalog, std::string_view batch,
                                       std::string_view operation, std::string_view variant);

}  // namespace kw::capi
