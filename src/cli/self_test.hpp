// SPDX-License-Identifier: Apache-2.0
// kw numerics --self-test: the planted defects, and the check that found each.
#pragma once

#include "kernelwright/cli/console.hpp"
#include "kernelwright/cli/exit_code.hpp"
#include "kernelwright/cli/flags.hpp"

namespace kw::cli {

ExitCode run_self_test_command(const Flags& flags, Console& console);

}  // namespace kw::cli
