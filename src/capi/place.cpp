// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/capi/place.hpp"

#include "kernelwright/ops/process.hpp"

namespace kw::capi {

Place place_of(std::string_view device) {
  if (device.empty()) {
    Context* const standard = Context::process_default();
    Context& context = standard != nullptr ? *standard : process_context({});  // throws
    return {context, context.device()};
  }
  // Before a device is opened for a process that is not initialised.
  if (Context::process_default() == nullptr) process_context({});
  runtime::Device& port = process_device(device);
  return {process_context({port.hardware().kind, port.hardware().index}), port};
}

std::string device_name(const DevicePort& port) {
  return runtime::device_name_text({port.hardware().kind, port.hardware().index});
}

}  // namespace kw::capi
