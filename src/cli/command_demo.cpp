// SPDX-License-Identifier: Apache-2.0
// kw demo: the example model over a text file, eager and bound, side by side.
#include <dlfcn.h>

#include <filesystem>

#include "kernelwright/cli/command.hpp"
#include "qwen3_5_moe/demo.hpp"

namespace kw::cli {
namespace {

// Data files lie at ../share/kernelwright beside this library, in a build tree as in an
// installation, whichever program loaded it.
std::string shipped(const std::string& path) {
  static const char here = 0;
  Dl_info library{};
  if (dladdr(&here, &library) == 0) return path;
  std::error_code failed;
  const auto place = std::filesystem::canonical(library.dli_fname, failed);
  if (failed) return path;
  const auto file = place.parent_path().parent_path() / "share" / "kernelwright" / path;
  return std::filesystem::exists(file, failed) ? file.string() : path;
}

ExitCode run_demo_command(const Flags& flags, Console& console) {
  qwen3_5_moe::DemoOptions options;
  options.text_path = flags.text.empty() ? shipped(options.text_path) : flags.text;
  options.config_path = flags.config.empty() ? shipped(options.config_path) : flags.config;
  const int result = qwen3_5_moe::run_demo(options, console.out);
  return result == 0 ? ExitCode::kPassed : ExitCode::kCheckFailed;
}

}  // namespace

Command demo_command() {
  return {"demo", "a small model over a text file, eager and bound: the losses must agree",
          "",     {Flag::kText, Flag::kConfig},
          true,   run_demo_command};
}

}  // namespace kw::cli
