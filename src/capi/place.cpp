// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/capi/place.hpp"

#include "kernelwright/ops/process.hpp"

namespace kw::capi {

Place place_of(std::string_view device) {
  Context& context = process_context(device);
  return {context, device.empty() ? context.device() : process_device(device)};
}

std::string device_name(const DevicePort& port) {
  return runtime::device_name_text({port.hardware().kind, port.hardware().index});
}

}  // namespace kw::capi
