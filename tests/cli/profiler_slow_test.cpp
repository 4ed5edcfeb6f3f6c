// SPDX-License-Identifier: Apache-2.0
// What a profiler is told of `kw`, by a tool that writes it down.
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/support/run_kw.hpp"

namespace kw::test {
namespace {

Finished run_profiled(const std::vector<std::string>& arguments, const TemporaryFolder& folder,
                      const std::string& tool) {
  return run_kw(arguments,
                {{"NVTX_INJECTION64_PATH=" + tool, "RANGES_FILE=" + folder.path("ranges"),
                  "KW_CACHE_DIR=" + folder.path("cache")},
                 "",
                 false});
}

std::string tool_library() {
  const auto bin = std::filesystem::path(kw_binary()).parent_path();
  return (bin.parent_path() / "lib/libkw_nvtx_tool.so").string();
}

TEST(Profiler, IsToldOfCallsAndOfPlansPreparedWithinThem) {
  const TemporaryFolder folder;
  const Finished finished = run_profiled({"demo"}, folder, tool_library());
  ASSERT_EQ(finished.code, 0) << finished.err;
  const std::string ranges = TemporaryFolder::read(folder.path("ranges"));
  EXPECT_NE(ranges.find("kw call rms_norm/qwen3_5\n  kw prepare cpu.native.rms_norm\n"),
            std::string::npos)
      << ranges;
}

TEST(Profiler, IsToldOfCompiles) {
  const TemporaryFolder folder;
  const Finished finished = run_profiled(
      {"precompile", "rms_norm/standard x=bf16[?,512] weight=bf16[512]", "--arch", "sm_90a"},
      folder, tool_library());
  if (finished.code == 4) GTEST_SKIP() << finished.err;
  ASSERT_EQ(finished.code, 0) << finished.err;
  const std::string ranges = TemporaryFolder::read(folder.path("ranges"));
  EXPECT_NE(ranges.find("kw prepare cuda.jit.rms_norm\n  kw compile kw_rms_norm_standard_bf16"),
            std::string::npos)
      << ranges;
}

TEST(Profiler, OneThatCannotBeLoadedIsAWarning) {
  const TemporaryFolder folder;
  const Finished finished =
      run_profiled({"explain", "--operation", "rms_norm"}, folder, "/nonexistent/tool.so");
  EXPECT_EQ(finished.code, 0);
  EXPECT_NE(finished.err.find("NVTX_INJECTION64_PATH: /nonexistent/tool.so"), std::string::npos)
      << finished.err;
  EXPECT_NE(finished.err.find("unset it"), std::string::npos) << finished.err;
}

}  // namespace
}  // namespace kw::test
