// SPDX-License-Identifier: Apache-2.0
// kw demo: the example model over a text file, eager and bound, side by side.
#include <filesystem>

#include "kernelwright/cli/command.hpp"
#include "qwen3_5_moe/demo.hpp"

namespace kw::cli {
namespace {

// Data files lie at ../share/kernelwright beside the binary, in a build tree as in an installation.
std::string shipped(const std::string& path) {
  std::error_code ignored;
  const auto binary = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto file = binary.parent_path().parent_path() / "share" / "kernelwright" / path;
  return std::filesystem::exists(file, ignored) ? file.string() : path;
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
