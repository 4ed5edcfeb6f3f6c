// SPDX-License-Identifier: Apache-2.0
// What is to be run, in the words of the command line, and what it runs on. Shared by numerics and
// bench.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernelwright/core/catalog.hpp"
#include "kernelwright/runtime/device.hpp"
#include "kernelwright/runtime/monitor.hpp"
#include "kernelwright/suite/suite.hpp"

namespace kw::suite {

class DeviceKernels;
class DevicePages;

struct Platform {
  Catalog& catalog;  // frozen by the first run
  runtime::Device& device;
  std::span<const SuiteSpec> suites;
  // KW_OVERRIDE_* of this process, by operation.
  std::map<std::string, std::string> overrides;
  // Fill and compare on the device; null: on the host.
  std::shared_ptr<DeviceKernels> kernels = nullptr;
  // Another device of the same model, for the checks that need two; null: there is none.
  runtime::Device* second_device = nullptr;
  std::string driver{};  // of the device, "13.0"; empty: it has none
  // Clocks and power of the device; null: nothing tells.
  std::shared_ptr<runtime::Monitor> monitor = nullptr;
  // Page guards of an asynchronous device; null: it has none.
  std::shared_ptr<DevicePages> pages = nullptr;
};

struct Request {
  std::string operation;              // empty: from `implementation`, or every operation
  std::string implementation;         // exact name or solution; empty: all but oracles
  std::vector<std::string> variants;  // empty: all
  std::vector<std::string> problems;  // texts; empty: the batch
  std::string batch = "smoke";
  std::string dtype;  // keeps problems whose first tensor has it
  Mode mode = Mode::kEager;
  std::uint64_t seed = 1;
  CfgPins pins;
  int shard = 0, shards = 1;  // runs cases with index % shards == shard
  // Largest share of a batch that a target may put outside its domain, of the cases whose variant
  // it implements: above it the run ends with 3. Single problems and fuzz have no such limit.
  double max_domain_excluded = 0.25;

  bool is_batch() const noexcept { return problems.empty(); }

  // Asked before each case: true ends the run there, with a report of what was done.
  std::function<bool()> interrupted;

  // Identity of the run, for reports.
  std::vector<std::string> argv;
  std::string revision;
};

struct Target {
  const Operation* operation = nullptr;
  const Implementation* implementation = nullptr;
};

// What `request` names. Throws Error(kNotFound | kInvalidArgument) for unknown names and for an
// implementation of another operation.
std::vector<Target> find_targets(const Request& request, const Platform& platform);

// Problems of one target after the filters of `request`, in order and without duplicates.
std::vector<Problem> find_problems(const Request& request, const Platform& platform,
                                   const Contract& contract);

}  // namespace kw::suite
