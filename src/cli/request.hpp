// SPDX-License-Identifier: Apache-2.0
// From flags to values of core: which operation and variant, which problems, which settings, which
// device. Throws Error before anything runs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernelwright/cli/flags.hpp"
#include "kernelwright/core/problem.hpp"
#include "kernelwright/core/settings.hpp"
#include "kernelwright/runtime/device.hpp"

namespace kw::cli {

// What a command is about. With problems, operation and variant are those of all of them, if they
// agree, and else empty; without, an empty variant stands for every one.
struct Subject {
  std::string operation, variant;
  std::vector<Problem> problems;
};

// Reads words (an operation, operation/variant or a problem), --operation, --variant, --problem and
// the operation that an exact --implementation implies. They must agree. Nothing given: an empty
// subject.
Subject subject_of(const Flags& flags, const Catalog& catalog);

// Every operation that it speaks of: the problems', else its own.
std::vector<std::string> operations_of(const Subject& subject);

// --config, --implementation for `operations`, --mode, and KW_OVERRIDE_* of this process on top.
Settings settings_of(const Flags& flags, const Catalog& catalog,
                     const std::vector<std::string>& operations);

// What --device names, the CPU when it is not given.
runtime::DeviceName device_name_of(const Flags& flags);
// Opens --device. A device that this build or machine lacks is Error(kEnvironment).
std::unique_ptr<runtime::Device> open_device(const Flags& flags);

// Checks an --implementation that is to be run by itself: its name, and whether a device of `kind`
// could serve it. A value that needs a plugin says which.
void require_implementation(const Flags& flags, const Catalog& catalog,
                            const std::string& operation, DeviceKind kind);

// --cfg field=value.
CfgPins cfg_pins_of(const Flags& flags);

// --shard I/N as {I - 1, N}; {0, 1} when not given.
std::pair<int, int> shard_of(const Flags& flags);

}  // namespace kw::cli
