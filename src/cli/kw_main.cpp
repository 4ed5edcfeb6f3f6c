// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/cli/kw_main.hpp"

#include <cstdio>
#include <exception>

#include "kernelwright/cli/app.hpp"

extern "C" int kw_main(int argc, const char* const* argv) noexcept {
  using kw::cli::ExitCode;
  try {
    std::vector<std::string> arguments;
    for (int i = 1; argv != nullptr && i < argc && argv[i] != nullptr; ++i) {
      arguments.emplace_back(argv[i]);
    }
    kw::cli::Console console = kw::cli::standard_console();
    return static_cast<int>(kw::cli::run(std::move(arguments), console));
  } catch (const std::exception& error) {  // no memory for a command line
    std::fprintf(stderr, "error: %s\n", error.what());
    return static_cast<int>(ExitCode::kEnvironment);
  }
}
