// SPDX-License-Identifier: Apache-2.0
// kw compare on the CPU and over reports: words, exit codes, formats.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/support/run_kw.hpp"

namespace kw::test {
namespace {

using Json = nlohmann::json;

constexpr const char* kProblem = "rms_norm/standard x=bf16[64,256] weight=bf16[256]";
constexpr const char* kNative = "cpu.native.rms_norm";

void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: " << text;
  }
}

TEST(Compare, OneImplementationWithItself) {
  const TemporaryFolder folder;
  const std::string path = folder.path("compare.json");
  const Finished finished = run_kw({"compare", kNative, kNative, "--problem", kProblem,
                                    "--protocol", "wall_hot", "--output", path});
  EXPECT_TRUE(finished.code == 0 || finished.code == 1) << finished.err;  // the machine may be busy
  expect_words(finished.out, {"verdict", "ratio", "delta", kProblem, "1 compared"});
  const Json report = Json::parse(TemporaryFolder::read(path));
  EXPECT_EQ(report["kind"], "compare");
  EXPECT_EQ(report["comparisons"][0]["a"], kNative);
  EXPECT_EQ(report["comparisons"][0]["pairs"]["a_ns"].size(), 20U);
}

// The reference is hundreds of times slower: no load of the machine hides that.
TEST(Compare, ASlowerSecondSideEndsWithOne) {
  const Finished finished =
      run_kw({"compare", kNative, "cpu.reference.rms_norm", "--problem", kProblem, "--json",
              "--protocol", "wall_hot", "--iterations", "12"});
  EXPECT_EQ(finished.code, 1) << finished.out << finished.err;
  const Json report = Json::parse(finished.out);
  EXPECT_EQ(report["comparisons"][0]["verdict"], "SLOWER");
  EXPECT_EQ(report["summary"]["exit_code"], 1);
}

// Cached, the reference is far below any copy, which is no failure.
TEST(Compare, ACopyIsABaseline) {
  const Finished finished = run_kw({"compare", "copy", "reference", "--problem", kProblem, "--json",
                                    "--protocol", "wall_hot", "--iterations", "12"});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  const Json row = Json::parse(finished.out)["comparisons"][0];
  EXPECT_EQ(row["a"], "copy");
  EXPECT_LT(row["ratio"], 1);
}

TEST(Compare, WrongRequestsAreRefused) {
  const auto refuse = [](std::vector<std::string> arguments,
                         std::initializer_list<const char*> words) {
    const Finished finished = run_kw(std::move(arguments));
    EXPECT_EQ(finished.code, 2) << finished.out;
    expect_words(finished.err, words);
  };
  refuse({"compare", kNative}, {"two implementations or two reports", "1 given"});
  refuse({"compare", kNative, "a.json"}, {"one is a report and the other is not"});
  refuse({"compare", kNative, "copy"}, {"'copy'", "write it first"});
  refuse({"compare", kNative, "cpu.nativ.rms_norm"}, {"did you mean 'cpu.native.rms_norm'"});
  refuse({"compare", kNative, "cpu.native.rms_norm_backward"}, {"rms_norm_backward"});
  refuse({"compare", kNative, kNative, "--problem", kProblem, "--protocol", "graph_hot"},
         {"wall_cold or wall_hot"});
  refuse({"compare", "a.json", "b.json", "--batch", "ci"}, {"compared as they are"});
  const Finished missing = run_kw({"compare", "no_a.json", "no_b.json"});
  EXPECT_EQ(missing.code, 4);
  expect_words(missing.err, {"no_a.json", "cannot be read"});
}

TEST(Compare, TwoReportsNeedNoDeviceAndTheSameOne) {
  const TemporaryFolder folder;
  const std::string a = folder.path("a.json"), b = folder.path("b.json");
  const Finished bench =
      run_kw({"bench", "--problem", kProblem, "--implementation", "native", "--iterations", "20",
              "--protocol", "wall_sync", "--quiet", "--output", a});
  ASSERT_EQ(bench.code, 0) << bench.out << bench.err;
  const Finished same = run_kw({"compare", a, a});
  EXPECT_EQ(same.code, 0) << same.out;
  expect_words(same.out, {"1.000", "1 compared"});
  Json other = Json::parse(TemporaryFolder::read(a));
  other["environment"]["model"] = "another";
  std::ofstream(b) << other;
  const Finished incomparable = run_kw({"compare", a, b});
  EXPECT_EQ(incomparable.code, 2) << incomparable.out;
  expect_words(incomparable.err, {"incomparable", "model", "another"});
}

}  // namespace
}  // namespace kw::test
