// SPDX-License-Identifier: Apache-2.0
// Whether numerics finds what is planted: every saboteur through the same runner, checks and gates
// as any implementation, on devices in software or a real one; and, as controls, the same cases
// without a defect.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernelwright/runtime/device.hpp"
#include "kernelwright/suite/case.hpp"
#include "kernelwright/suite/checks/device_pages.hpp"
#include "kernelwright/suite/selftest/probe.hpp"
#include "kernelwright/suite/selftest/sabotage.hpp"

namespace kw::suite {

struct SelfTestRow {
  const Saboteur* saboteur = nullptr;
  CaseResult result;    // of the sabotaged implementation
  CaseResult control;   // of the right one on the same case
  bool killed = false;  // failed, and with one of the saboteur's codes
  std::string skipped;  // why it cannot run here; empty: it ran
};

// Where kernels are compiled and run instead of devices in software.
struct SelfTestDevice {
  runtime::Device& device;
  runtime::Device* second = nullptr;  // of the same model; null: what needs two is skipped
  ProbeToolchain toolchain;
  std::shared_ptr<DevicePages> pages = nullptr;  // null: what needs page guards is skipped
};

// Page guards of a self-test. `open` is called once, in a worker process, for the same as
// run_self_test() is given; what it opens it keeps. DevicePages says when to make them.
std::shared_ptr<DevicePages> self_test_pages(std::function<SelfTestDevice()> open);

struct SelfTestReport {
  std::vector<SelfTestRow> rows;

  int killed() const noexcept;
  int skipped() const noexcept;
  // Saboteurs that live, and controls that do not.
  std::vector<const SelfTestRow*> survivors() const;
  std::vector<const SelfTestRow*> false_alarms() const;
  bool passed() const { return !rows.empty() && survivors().empty() && false_alarms().empty(); }
};

// `only`: the name of one saboteur; empty: all. `real`: null for devices in software; with two
// devices the last saboteur may leave the first one unusable to this process. Throws
// Error(kNotFound) for an unknown name.
SelfTestReport run_self_test(const std::string& only = "",
                             const std::function<void(const SelfTestRow&)>& progress = {},
                             const SelfTestDevice* real = nullptr);

// {"schema": "kw.self_test/1", "killed", "of", "false_alarms", "defects": [{name, what, problem,
// skipped, killed, reason, message}]}
std::string to_json(const SelfTestReport& report);

}  // namespace kw::suite
