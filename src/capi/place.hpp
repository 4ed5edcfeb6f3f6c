// SPDX-License-Identifier: Apache-2.0
// Private: a device of this process by name, with the context that serves it.
#pragma once

#include <string>
#include <string_view>

#include "kernelwright/core/context.hpp"

namespace kw::capi {

struct Place {
  Context& context;
  DevicePort& port;
};

// `device` as in kw_bind; "" is the device of initialize. Throws Error(kConflict) before that,
// Error(kEnvironment) for a device that is not there.
Place place_of(std::string_view device);

// "cpu", "cuda:1".
std::string device_name(const DevicePort& port);

}  // namespace kw::capi
