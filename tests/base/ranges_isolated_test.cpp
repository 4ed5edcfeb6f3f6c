// SPDX-License-Identifier: Apache-2.0
// A process attaches to one tool, if any: every case has its own.
#include "kernelwright/base/ranges.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace kw {
namespace {

std::string tool_library() {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return (here.parent_path() / "lib/libkw_nvtx_tool.so").string();
}

std::string told(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return "not loaded";
  return reinterpret_cast<const char* (*)()>(::dlsym(handle, "ranges_text"))();
}

TEST(Ranges, ReachTheToolWithTheirNamesAndNest) {
  { const Range before("call", "unheard"); }
  ASSERT_EQ(attach_range_tool(tool_library()), "");
  {
    const Range outer("call", "rms_norm", "qwen3_5");
    const Range inner("prepare", std::string("cuda.jit.rms_norm"));
  }
  { const Range next("compile", "kw_x"); }
  EXPECT_EQ(told(tool_library()),
            "kw call rms_norm/qwen3_5\n  kw prepare cuda.jit.rms_norm\nkw compile kw_x\n");
}

TEST(Ranges, ATextThatIsTooLongIsCut) {
  ASSERT_EQ(attach_range_tool(tool_library()), "");
  { const Range range("call", std::string(1000, 'x')); }
  const std::string text = told(tool_library());
  EXPECT_EQ(text.substr(0, 9), "kw call x");
  EXPECT_GT(text.size(), 150U);
  EXPECT_LT(text.size(), 250U);
}

TEST(Ranges, ALibraryThatIsNotThereIsTheReason) {
  EXPECT_NE(attach_range_tool("/nonexistent/tool.so").find("/nonexistent/tool.so"),
            std::string::npos);
  const Range range("call", "harmless");
}

TEST(Ranges, ALibraryThatIsNoToolIsTheReason) {
  EXPECT_EQ(attach_range_tool("libm.so.6"),
            "libm.so.6 is no NVTX tool: it lacks InitializeInjectionNvtx2");
  const Range range("call", "harmless");
}

}  // namespace
}  // namespace kw
