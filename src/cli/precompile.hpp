// SPDX-License-Identifier: Apache-2.0
// Preparing problems on devices that only compile, on several threads.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernelwright/base/error.hpp"
#include "kernelwright/cli/progress.hpp"
#include "kernelwright/core/context.hpp"
#include "kernelwright/runtime/device.hpp"

namespace kw::cli {

struct PrecompileTask {
  const Problem* problem = nullptr;
  runtime::Device* device = nullptr;
  // Results.
  std::string implementation;  // "": nothing serves it
  std::string error;           // "": prepared
  std::optional<Code> code;    // of the error of an implementation
};

// Prepares tasks and holds what was prepared, so that its plans can be asked for afterwards.
class Precompiler {
 public:
  // All must outlive it.
  Precompiler(Catalog& catalog, const Settings& settings, const CfgPins& pins)
      : catalog_(catalog), settings_(settings), pins_(pins) {}

  // Fills in the results. Throws nothing of a task.
  void run(std::vector<PrecompileTask>& tasks, std::size_t threads, ProgressLine& line);

 private:
  // A context serialises what it builds for one operation; so every thread has its own, and the
  // session behind them compiles a unit once.
  using Contexts = std::map<runtime::Device*, std::unique_ptr<Context>>;

  void prepare(PrecompileTask& task, Contexts& contexts) const;

  Catalog& catalog_;
  const Settings& settings_;
  const CfgPins& pins_;
  std::vector<Contexts> contexts_;  // by thread
};

}  // namespace kw::cli
