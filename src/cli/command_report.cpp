// SPDX-License-Identifier: Apache-2.0
// kw report: a report that was written as JSON, for reading.
#include <ostream>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/suite_command.hpp"
#include "kernelwright/suite/report_file.hpp"

namespace kw::cli {
namespace {

ExitCode run_report(const Flags& flags, Console& console) {
  if (flags.words.size() != 1) {
    fail(Code::kInvalidArgument,
         "kw report takes one file, a report in JSON; `kw numerics --output FILE.json` writes one");
  }
  if (!flags.output.empty()) require_report_path(flags.output);
  const std::string text = suite::convert_report(flags.words.front(), flags.output);
  if (flags.output.empty()) console.out << text;
  return ExitCode::kPassed;
}

}  // namespace

Command report_command() {
  return {
      "report",    "a JSON report as Markdown on standard output, or as a file of another format",
      "FILE.json", {Flag::kOutput},
      false,       run_report};
}

}  // namespace kw::cli
