// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/environment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/expect_error.hpp"

namespace kw {
namespace {

using test::expect_error;

std::string shown(const Environment& environment, std::string_view name) {
  for (const EnvironmentRow& row : environment.table) {
    if (row.name == name) return row.value + (row.set ? " (set)" : "");
  }
  return "no row";
}

TEST(Environment, DefaultsWhenNothingIsSet) {
  const Environment e = Environment::read({});
  EXPECT_TRUE(e.overrides.empty());
  EXPECT_EQ(e.cache_dir, "");
  EXPECT_FALSE(e.cache_readonly);
  EXPECT_EQ(e.log_level, LogLevel::kWarning);
  EXPECT_FALSE(e.num_threads.has_value());
  EXPECT_TRUE(e.packs.empty() && e.plugins.empty() && e.jit_flags.empty() && e.unknown.empty());
  EXPECT_EQ(shown(e, "KW_LOG"), "warning");
  EXPECT_EQ(shown(e, "KW_CACHE_DIR"), "none: HOME is not set");
  EXPECT_EQ(shown(e, "KW_OVERRIDE_<OPERATION>"), "none");
}

TEST(Environment, ReadsEveryVariable) {
  const Environment e = Environment::read(
      {"KW_OVERRIDE_RMS_NORM=native", "KW_OVERRIDE_TOPK2=[a, b]", "KW_CACHE_DIR=/c",
       "KW_CACHE_READONLY=on", "KW_PACKS=/p1::/p2", "KW_ARCH=sm_90a", "KW_NVRTC=/n.so",
       "KW_CXX=clang++", "KW_JIT_FLAGS=-O3  -DX=1", "KW_SOURCE_ROOT=/s", "KW_LOG=debug",
       "KW_NUM_THREADS=3", "KW_PLUGINS=a:b", "CUDA_PATH=/cuda", "NVTX_INJECTION64_PATH=/tool.so"});
  EXPECT_EQ(e.overrides,
            (std::map<std::string, std::string>{{"rms_norm", "native"}, {"topk2", "[a, b]"}}));
  EXPECT_EQ(e.cache_dir, "/c");
  EXPECT_TRUE(e.cache_readonly);
  EXPECT_EQ(e.packs, (std::vector<std::string>{"/p1", "/p2"}));
  EXPECT_EQ(e.arch, "sm_90a");
  EXPECT_EQ(e.nvrtc, "/n.so");
  EXPECT_EQ(e.cxx, "clang++");
  EXPECT_EQ(e.cuda_path, "/cuda");
  EXPECT_EQ(e.nvtx_tool, "/tool.so");
  EXPECT_EQ(e.jit_flags, (std::vector<std::string>{"-O3", "-DX=1"}));
  EXPECT_EQ(e.source_root, "/s");
  EXPECT_EQ(e.log_level, LogLevel::kDebug);
  EXPECT_EQ(e.num_threads, 3);
  EXPECT_EQ(e.plugins, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(e.unknown.empty());
  for (const EnvironmentRow& row : e.table) {
    EXPECT_TRUE(row.set) << row.name;
    EXPECT_FALSE(row.meaning.empty()) << row.name;
  }
  EXPECT_EQ(shown(e, "KW_OVERRIDE_RMS_NORM"), "native (set)");
  EXPECT_EQ(shown(e, "KW_NUM_THREADS"), "3 (set)");
  EXPECT_EQ(shown(e, "KW_PACKS"), "/p1:/p2 (set)");
}

TEST(Environment, TableHasEachVariableOnce) {
  std::set<std::string> names;
  for (const EnvironmentRow& row : Environment::read({}).table) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.set) << row.name;
  }
  EXPECT_EQ(names, (std::set<std::string>{
                       "KW_OVERRIDE_<OPERATION>", "KW_CACHE_DIR", "KW_CACHE_READONLY", "KW_PACKS",
                       "KW_ARCH", "KW_NVRTC", "KW_CXX", "KW_JIT_FLAGS", "KW_SOURCE_ROOT", "KW_LOG",
                       "KW_NUM_THREADS", "KW_PLUGINS", "CUDA_PATH", "NVTX_INJECTION64_PATH"}));
}

TEST(Environment, CacheDirectoryFollowsTheBaseDirectoryRule) {
  EXPECT_EQ(Environment::read({"HOME=/h"}).cache_dir, "/h/.cache/kernelwright");
  EXPECT_EQ(Environment::read({"HOME=/h", "XDG_CACHE_HOME=/x"}).cache_dir, "/x/kernelwright");
  EXPECT_EQ(Environment::read({"HOME=/h", "XDG_CACHE_HOME=x"}).cache_dir, "/h/.cache/kernelwright");
  EXPECT_EQ(Environment::read({"HOME=/h", "KW_CACHE_DIR=c"}).cache_dir, "c");
}

TEST(Environment, EmptyIsNotSetAndTheFirstOfEqualNamesCounts) {
  const Environment e = Environment::read(
      {"KW_NUM_THREADS=", "KW_LOG=error", "KW_LOG=debug", "KW_OVERRIDE_X=", "KW_TYPO=", "KW_LOG"});
  EXPECT_FALSE(e.num_threads.has_value());
  EXPECT_EQ(e.log_level, LogLevel::kError);
  EXPECT_TRUE(e.overrides.empty());
  EXPECT_TRUE(e.unknown.empty());
}

TEST(Environment, LogCanBeSilent) {
  const Environment e = Environment::read({"KW_LOG=off"});
  EXPECT_FALSE(e.log_level.has_value());
  EXPECT_EQ(shown(e, "KW_LOG"), "off (set)");
}

TEST(Environment, MalformedValuesNameVariableValueAndWhatIsAccepted) {
  const struct {
    const char *entry, *expected;
  } cases[] = {
      {"KW_NUM_THREADS=abc", "an integer from 1 to 4096"},
      {"KW_NUM_THREADS=0", "an integer from 1 to 4096"},
      {"KW_NUM_THREADS=-2", "an integer from 1 to 4096"},
      {"KW_NUM_THREADS=4097", "an integer from 1 to 4096"},
      {"KW_NUM_THREADS=2x", "an integer from 1 to 4096"},
      {"KW_NUM_THREADS= 2", "an integer from 1 to 4096"},
      {"KW_LOG=verbose", "debug, info, warning, error or off"},
      {"KW_LOG=Debug", "debug, info, warning, error or off"},
      {"KW_CACHE_READONLY=2", "1, true, on, 0, false or off"},
      {"KW_ARCH=90a", "an architecture such as sm_80"},
      {"KW_ARCH=sm_9", "an architecture such as sm_80"},
      {"KW_ARCH=sm_90ab", "an architecture such as sm_80"},
      {"KW_ARCH=sm_a", "an architecture such as sm_80"},
  };
  for (const auto& each : cases) {
    const std::string text = each.entry;
    const std::size_t equals = text.find('=');
    const std::string shape = text.substr(0, equals) + "='" + text.substr(equals + 1) + "'";
    expect_error(Code::kInvalidArgument, {shape, each.expected, "correct it or unset it"},
                 [&] { Environment::read({text}); });
  }
}

TEST(Environment, ReportsUnknownVariablesWithTheNearest) {
  const Environment e =
      Environment::read({"KW_NUM_THREAD=4", "KW_OVERRIDE_rms_norm=native", "KW_ZZZZZZZZZZZZ=1",
                         "KWAI=1", "OTHER=1", "KW_OVERRIDE=x"});
  const auto nearest = [&](std::string_view name) -> std::string {
    for (const UnknownVariable& unknown : e.unknown) {
      if (unknown.name == name) return unknown.nearest;
    }
    return "not reported";
  };
  EXPECT_EQ(e.unknown.size(), 4U);
  EXPECT_EQ(nearest("KW_NUM_THREAD"), "KW_NUM_THREADS");
  EXPECT_EQ(nearest("KW_OVERRIDE_rms_norm"), "KW_OVERRIDE_RMS_NORM");
  EXPECT_EQ(nearest("KW_ZZZZZZZZZZZZ"), "");
  EXPECT_EQ(nearest("KW_OVERRIDE"), "");
  EXPECT_TRUE(e.overrides.empty());
}

TEST(Environment, NoColorAndDumbTerminalsRefuseColour) {
  EXPECT_FALSE(refuses_colour({"TERM=xterm", "NO_COLOR="}));
  EXPECT_TRUE(refuses_colour({"TERM=xterm", "NO_COLOR=0"}));
  EXPECT_TRUE(refuses_colour({"TERM=dumb"}));
  EXPECT_FALSE(refuses_colour({"KW_NUM_THREADS=abc"}));  // malformed, and not asked for here
}

TEST(Environment, OfTheProcessIsReadOnce) { EXPECT_EQ(&environment(), &environment()); }

}  // namespace
}  // namespace kw
