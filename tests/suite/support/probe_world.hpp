// SPDX-License-Identifier: Apache-2.0
// A platform of the probe operations on the host, with a small batch of each kind.
#pragma once

#include "kernelwright/suite/run.hpp"
#include "kernelwright/suite/selftest/probe.hpp"
#include "suite/support/host_device.hpp"

namespace kw::test {

const std::vector<suite::SuiteSpec>& probe_suites();

struct ProbeWorld {
  explicit ProbeWorld(suite::Sabotage sabotage = suite::Sabotage::kNone);

  Catalog catalog;
  HostDevice device;
  suite::Platform platform{catalog, device, probe_suites(), {}};
};

// For `cpu.toy.affine`, which every ProbeWorld has.
suite::NumericsRequest toy_request();

}  // namespace kw::test
