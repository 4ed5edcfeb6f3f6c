// SPDX-License-Identifier: Apache-2.0
// The program `kw`: finds the command, parses its flags, runs it, and turns whatever happens into
// an exit code.
#pragma once

#include <string>
#include <vector>

#include "kernelwright/cli/console.hpp"
#include "kernelwright/cli/exit_code.hpp"

namespace kw::cli {

// `arguments` without the program's name. Throws nothing.
ExitCode run(std::vector<std::string> arguments, Console& console) noexcept;

}  // namespace kw::cli
