// SPDX-License-Identifier: Apache-2.0
// The environment is read once: every case has a process of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "jit/support/toy_unit.hpp"
#include "kernelwright/backend/cpu/toolchain_host.hpp"
#include "support/expect_error.hpp"

namespace kw::jit {
namespace {

TEST(HostToolchainOfThisProcess, IsTheCompilerOfKwCxx) {
  const test::TemporaryDirectory directory;
  const std::string compiler = directory.path() + "/my-compiler";
  std::ofstream(compiler) << "#!/bin/sh\necho mine 7\n";
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  ::setenv("KW_CXX", compiler.c_str(), 1);
  EXPECT_EQ(host_toolchain().compiler(), compiler);
  EXPECT_EQ(host_toolchain().description(), "host mine 7");
}

TEST(HostToolchainOfThisProcess, DoesNotLookFurtherThanKwCxx) {
  ::setenv("KW_CXX", "no-such-compiler", 1);
  EXPECT_EQ(host_toolchain().stamp(), "");
  test::expect_error(Code::kEnvironment, {"no no-such-compiler in", "set KW_CXX"},
                     [] { host_toolchain().identity(); });
}

}  // namespace
}  // namespace kw::jit
