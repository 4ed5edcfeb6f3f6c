// SPDX-License-Identifier: Apache-2.0
// The exit codes of `kw`, by the names that commands use.
#pragma once

#include "kernelwright/capi/exit_code.hpp"

namespace kw::cli {

using capi::exit_code;
using capi::ExitCode;

}  // namespace kw::cli
