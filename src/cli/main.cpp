// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/cli/app.hpp"

int main(int argc, char** argv) {
  kw::cli::Console console = kw::cli::standard_console();
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(kw::cli::run(std::move(arguments), console));
}
