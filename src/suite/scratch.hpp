// SPDX-License-Identifier: Apache-2.0
// The workspace of validated calls: exactly as large as the implementation says, poisoned before
// each call and, on the CPU, between canaries.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kernelwright/core/implementation.hpp"
#include "kernelwright/runtime/device.hpp"

namespace kw::suite {

class Scratch {
 public:
  virtual ~Scratch() = default;
  // The port through which contexts must run their calls.
  virtual DevicePort& port() noexcept = 0;
  // Before a call that needs `size`: zeros its first bytes, poisons the others. Throws
  // Error(kEnvironment) when memory is short.
  virtual void arm(const WorkspaceSize& size, std::uint8_t poison) = 0;
  // After the call: what was written outside, or left in the part that must be zero again.
  virtual std::optional<std::string> overrun() = 0;
  virtual std::optional<std::string> unclean() = 0;
};

std::unique_ptr<Scratch> make_scratch(runtime::Device& device);

}  // namespace kw::suite
