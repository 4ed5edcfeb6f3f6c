// SPDX-License-Identifier: Apache-2.0
// Private: control requests, of which include/kernelwright/kw.h has the list.
#pragma once

#include <string>

namespace kw::capi {

// The reply as JSON text. Throws Error.
std::string control(const char* request);

}  // namespace kw::capi
