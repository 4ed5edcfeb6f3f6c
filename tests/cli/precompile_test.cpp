// SPDX-License-Identifier: Apache-2.0
// kw precompile and kw cache, with the NVRTC of this machine and no device.
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/support/run_kw.hpp"

namespace kw::test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kProblem = "rms_norm/standard x=bf16[?,512] weight=bf16[512]";

void expect_words(const std::string& text, std::initializer_list<std::string> words) {
  for (const std::string& word : words) {
    EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: " << text;
  }
}

class Precompile : public testing::Test {
 protected:
  Finished run(std::vector<std::string> arguments,
               const std::vector<std::string>& environment = {}) const {
    RunOptions options{{"KW_CACHE_DIR=" + folder_.path("cache")}, "", false};
    options.environment.insert(options.environment.begin(), environment.begin(), environment.end());
    return run_kw(arguments, options);
  }
  void expect_refusal(const std::vector<std::string>& arguments, int code,
                      std::initializer_list<std::string> words,
                      const std::vector<std::string>& environment = {}) const {
    const Finished finished = run(arguments, environment);
    EXPECT_EQ(finished.code, code) << finished.out << finished.err;
    EXPECT_EQ(finished.err.rfind("error: ", 0), 0U) << finished.err;
    expect_words(finished.err, words);
  }
  // Compiles kProblem for sm_90a; skips the test where there is no compiler.
  void compile_or_skip() const {
    const Finished finished = run({"precompile", "--problem", kProblem, "--arch", "sm_90a"});
    if (finished.code == 4) GTEST_SKIP() << finished.err;
    ASSERT_EQ(finished.code, 0) << finished.out << finished.err;
    EXPECT_EQ(finished.err, "");  // no progress away from a terminal
    expect_words(finished.out, {"registers", "spilled bytes", "kw_rms_norm_standard_bf16_bf16_h512",
                                "sm_90a", "compiled", "1 kernels of 1 problems"});
  }

  const TemporaryFolder folder_;
};

TEST_F(Precompile, KeepsKernelsThatTheCacheCommandsShow) {
  compile_or_skip();
  if (IsSkipped()) return;
  const Json again =
      Json::parse(run({"precompile", "--problem", kProblem, "--arch", "sm_90a", "--json"}).out);
  ASSERT_EQ(again["units"].size(), 1U);
  EXPECT_EQ(again["units"][0]["origin"], "user") << "found, not compiled";
  EXPECT_EQ(again["problems"][0]["implementation"], "cuda.jit.rms_norm");
  const std::string key = again["units"][0]["key"];

  const Finished listed = run({"cache", "ls"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  expect_words(listed.out, {key.substr(0, 12), "kw_rms_norm", "sm_90a", "user", "1 kernel, "});
  const Finished shown = run({"cache", "show", key.substr(0, 8)});
  expect_words(shown.out, {key, "cuda.jit.rms_norm", "{.", "extern \"C\"", "__launch_bounds__",
                           "compile log", "Compiling entry function"});
  const Json rows = Json::parse(run({"cache", "show", "kw_rms", "--json"}).out);
  EXPECT_EQ(rows["entries"][0]["registers"], again["units"][0]["registers"]);
  const Finished whole = run({"cache", "verify"});
  EXPECT_EQ(whole.code, 0);
  EXPECT_EQ(whole.out, "1 kernel checked, 0 problems\n");
  expect_words(run({"cache", "stats"}).out, {"user", folder_.path("cache"), "0 sources"});

  const std::string path = rows["entries"][0]["path"];
  fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
  fs::resize_file(path, fs::file_size(path) - 1);
  const Finished damaged = run({"cache", "verify"});
  EXPECT_EQ(damaged.code, 1);
  expect_words(damaged.out, {"damaged " + path, "1 problem\n"});

  const Finished cleared = run({"cache", "clear"});
  EXPECT_EQ(cleared.code, 0) << cleared.err;
  expect_words(cleared.out,
               {"removed 1 kernel (", "0 refused sources from " + folder_.path("cache")});
  EXPECT_EQ(run({"cache", "ls"}).out, "0 kernels, 0.0 KiB\n");
}

TEST_F(Precompile, APackServesAMachineWithoutACompiler) {
  compile_or_skip();
  if (IsSkipped()) return;
  const std::string pack = folder_.path("pack");
  const Finished packed =
      run({"precompile", "--problem", kProblem, "--arch", "sm_90a", "--pack", pack, "--quiet"});
  EXPECT_EQ(packed.code, 0) << packed.err;
  expect_words(packed.out, {"0 compiled now", " and " + pack});
  const std::vector<std::string> bare{"KW_CACHE_DIR=" + folder_.path("none"), "KW_PACKS=" + pack,
                                      "KW_NVRTC=" + folder_.path("absent.so")};
  const Finished served = run({"precompile", "--problem", kProblem, "--arch", "sm_90a"}, bare);
  EXPECT_EQ(served.code, 0) << served.err;
  expect_words(served.out, {"pack"});
}

// KW_ARCH speaks of the devices that are here; --arch of whatever kernels are shipped to.
TEST_F(Precompile, NamedArchitecturesAreNotLimitedByTheProcesssOwn) {
  const std::vector<std::string> pinned{"KW_ARCH=sm_80"};
  const std::vector<std::string> one{"precompile", "--problem", kProblem, "--json"};
  const Finished own = run(one, pinned);
  if (own.code == 4) GTEST_SKIP() << own.err;
  EXPECT_EQ(Json::parse(own.out)["units"][0]["arch"], "sm_80");
  std::vector<std::string> listed = one;
  listed.insert(listed.end(), {"--arch", "sm_90a,sm_80"});
  const Finished both = run(listed, pinned);
  ASSERT_EQ(both.code, 0) << both.err;
  const Json units = Json::parse(both.out)["units"];
  ASSERT_EQ(units.size(), 2U);
  EXPECT_EQ(units[0]["arch"], "sm_90a");
  EXPECT_EQ(units[0]["origin"], "compiled");
  EXPECT_EQ(units[1]["arch"], "sm_80");
  EXPECT_EQ(units[1]["origin"], "user");
}

TEST_F(Precompile, WithoutACompilerIsTheEnvironmentsFault) {
  expect_refusal({"precompile", "--problem", kProblem, "--arch", "sm_90a,sm_80"}, 4,
                 {kProblem, "for sm_90a", "libnvrtc", "KW_NVRTC"},
                 {"KW_NVRTC=" + folder_.path("absent.so")});
}

TEST_F(Precompile, WhatNothingServesIsNamedWithTheReason) {
  const std::string exact = "rms_norm/standard x=f64[4,64] weight=f64[64]";
  const Finished finished = run({"precompile", "--problem", exact, "--arch", "sm_90a"});
  EXPECT_EQ(finished.code, 3) << finished.out;
  expect_words(finished.err,
               {"warning: ", exact, "no implementation serves", "it does not take f64"});
  const Finished eager = run({"precompile", "--problem", kProblem, "--arch", "sm_90a"},
                             {"KW_OVERRIDE_RMS_NORM=eager"});
  EXPECT_EQ(eager.code, 3);
  expect_words(eager.err, {"'eager' from KW_OVERRIDE_RMS_NORM", "nothing to compile"});
}

TEST_F(Precompile, RequestsThatCannotBeMet) {
  expect_refusal({"precompile", "--arch", "sm_90a"}, 2, {"needs problems", "--problem", "--batch"});
  expect_refusal({"precompile", "--problem", kProblem, "--batch", "ci", "--arch", "sm_90a"}, 2,
                 {"exclude each other"});
  expect_refusal({"precompile", "--problem", kProblem, "--arch", "sm_90a,sm_91"}, 2,
                 {"unknown architecture 'sm_91'", "sm_120a"});
  expect_refusal({"precompile", "--problem", kProblem}, 2, {"unknown architecture 'sm_91'"},
                 {"KW_ARCH=sm_91"});
  expect_refusal({"precompile", "--problem", kProblem, "--arch", "sm_90a", "--cfg", "hiden=4"}, 2,
                 {"hiden"});
  expect_refusal(
      {"precompile", "--problem", kProblem, "--arch", "sm_90a", "--implementation", "jit"}, 2,
      {"asked to compile jit", "KW_OVERRIDE_RMS_NORM", "eager"}, {"KW_OVERRIDE_RMS_NORM=eager"});
  expect_refusal({"precompile", "--problem", kProblem, "--arch", "sm_90a"}, 4,
                 {"cannot be kept", "KW_CACHE_READONLY"}, {"KW_CACHE_READONLY=1"});
  const std::string file = folder_.write("file", "");
  expect_refusal({"precompile", "--problem", kProblem, "--arch", "sm_90a"}, 4,
                 {"cannot be written", "set KW_CACHE_DIR"}, {"KW_CACHE_DIR=" + file + "/sub"});
}

TEST_F(Precompile, CacheActionsAndTheirWords) {
  expect_refusal({"cache"}, 2, {"kw cache what?", "ls, show, verify, stats, clear"});
  expect_refusal({"cache", "lst"}, 2, {"unknown action 'lst'", "did you mean 'ls'?"});
  expect_refusal({"cache", "ls", "all"}, 2, {"takes no further word"});
  expect_refusal({"cache", "show"}, 2, {"takes one word", "entry name"});
  expect_refusal({"cache", "show", "abc"}, 2, {"begins with 'abc'", "kw cache ls"});
  expect_refusal({"cache", "clear"}, 4, {"nothing is cleared", "KW_CACHE_READONLY"},
                 {"KW_CACHE_READONLY=1"});
}

TEST_F(Precompile, DoctorTellsTheCompilerAndTheCaches) {
  const Finished finished = run({"doctor"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  expect_words(finished.out, {"compiled kernels", folder_.path("cache"), "writable", "plugins"});
  const std::string file = folder_.write("file", "");
  const Json json = Json::parse(
      run({"doctor", "--json"}, {"KW_CACHE_DIR=" + file + "/sub", "KW_PACKS=" + file,
                                 "KW_PLUGINS=extra", "KW_NVRTC=" + folder_.path("absent.so")})
          .out);
  EXPECT_EQ(json["cuda"]["compiler"], "");
  std::string problems;
  for (const Json& problem : json["problems"]) {
    problems +=
        problem["what"].get<std::string>() + " | " + problem["fix"].get<std::string>() + "\n";
  }
  expect_words(problems, {file + "/sub cannot be written", "compiles its kernels anew",
                          file + " is not a directory", "correct KW_PACKS",
                          "KW_PLUGINS names extra", "unset it"});
}

}  // namespace
}  // namespace kw::test
