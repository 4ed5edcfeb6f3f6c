// SPDX-License-Identifier: Apache-2.0
// suite.yaml and batch files: what they mean, and where a mistake is.
#include "kernelwright/suite/suite_yaml.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace kw::suite {
namespace {

const std::vector<std::string> kOperations{"scale", "shift"};

TEST(SuiteYaml, HoldsBatchesOfProblems) {
  const auto suites = parse_suites(R"(# comment
scale:
  smoke:
    - scale/{a,b} x={T:bf16,f16}[{1,16},64]:[128,2]@2 weight={T}[64]
      want_y=true  # a line goes on
  bench: []
shift:
  ci: [shift/a x=f32]
)",
                                   "s.yaml", kOperations);
  ASSERT_EQ(suites.size(), 2U);
  EXPECT_EQ(suites[0].operation, "scale");
  ASSERT_EQ(suites[0].batches.size(), 2U);
  EXPECT_EQ(suites[0].batches[0].name, "smoke");
  EXPECT_EQ(suites[0].batches[0].problems,
            std::vector<std::string>{
                "scale/{a,b} x={T:bf16,f16}[{1,16},64]:[128,2]@2 weight={T}[64] want_y=true"});
  EXPECT_EQ(suites[1].batches[0].problems, std::vector<std::string>{"shift/a x=f32"});
}

TEST(SuiteYaml, MistakesHaveALineAndTheNearestName) {
  const auto refuse = [](std::initializer_list<std::string_view> words, const char* yaml) {
    test::expect_error(Code::kInvalidArgument, words,
                       [&] { parse_suites(yaml, "s.yaml", kOperations); });
  };
  refuse({"s.yaml:2:", "operation 'scael'", "did you mean 'scale'"}, "\nscael:\n  ci: []\n");
  refuse({"s.yaml:2:", "batch 'smoek'", "did you mean 'smoke'"}, "scale:\n  smoek: []\n");
  refuse({"s.yaml:4:", "a problem of 'scale'", "shift/a"},
         "scale:\n  ci:\n    - scale/a x=f32\n    - shift/a x=f32\n");
  refuse({"s.yaml:3:", "batch 'ci' appears a second time (first in line 2)"},
         "scale:\n  ci: []\n  ci: []\n");
  refuse({"s.yaml:1:", "a list of problems"}, "scale: {ci: all}\n");
  refuse({"s.yaml:", "not YAML"}, "scale: [\n");
  refuse({"expected operations with a map each"}, "- scale/a x=f32\n");
}

TEST(SuiteYaml, ABatchFileIsAListOrASuite) {
  const std::string path = std::filesystem::temp_directory_path() / "kw_batch_test.yaml";
  const auto lines_of = [&](const char* text) {
    std::ofstream(path) << text;
    return batch_lines({"scale", {}}, path);
  };
  EXPECT_EQ(lines_of("- scale/a x=f32[1]\n- scale/b x=f32[2]\n").size(), 2U);
  EXPECT_EQ(lines_of("scale:\n  ci: [scale/a x=f32]\n  full: [scale/b x=f32]\nshift:\n  ci: "
                     "[shift/a x=f32]\n"),
            (std::vector<std::string>{"scale/a x=f32", "scale/b x=f32"}));
  test::expect_error(Code::kNotFound, {"holds no problem of 'scale'"},
                     [&] { lines_of("shift:\n  ci: [shift/a x=f32]\n"); });
  test::expect_error(Code::kInvalidArgument, {"kw_batch_test.yaml:1:", "a problem of 'scale'"},
                     [&] { lines_of("- shift/a x=f32\n"); });
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace kw::suite
