// SPDX-License-Identifier: Apache-2.0
// What a command is to the program: a name, the flags it takes and a function. One file each.
#pragma once

#include <string>
#include <vector>

#include "kernelwright/cli/console.hpp"
#include "kernelwright/cli/exit_code.hpp"
#include "kernelwright/cli/flags.hpp"

namespace kw::cli {

struct Command {
  std::string name, summary;
  std::string words;  // placeholder of what is given without a flag; empty: nothing is
  std::vector<Flag> flags;
  // Whether it obeys the environment, which must then be well formed before anything is done.
  bool reads_environment = true;
  ExitCode (*run)(const Flags&, Console&) = nullptr;
};

Command list_command();
Command explain_command();
Command numerics_command();
Command bench_command();
Command replay_command();
Command evidence_command();
Command report_command();
Command compare_command();
Command tune_command();
Command precompile_command();
Command cache_command();
Command doctor_command();
Command demo_command();

}  // namespace kw::cli
