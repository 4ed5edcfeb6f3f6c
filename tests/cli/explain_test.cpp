// SPDX-License-Identifier: Apache-2.0
// kw explain: the choice with its history, every candidate with its reason.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/support/run_kw.hpp"

namespace kw::test {
namespace {

using Json = nlohmann::json;

constexpr const char* kProblem = "rms_norm/standard x=bf16[4,64] weight=bf16[64]";

Json explain(std::vector<std::string> arguments, const RunOptions& options = {}, int code = 0) {
  arguments.insert(arguments.begin(), {"explain", "--json"});
  const Finished finished = run_kw(arguments, options);
  EXPECT_EQ(finished.code, code) << finished.err;
  const Json json = Json::parse(finished.out, nullptr, false);
  EXPECT_EQ(json.value("schema", ""), "kw.explain/1") << finished.out;
  return json["explanations"];
}

TEST(Explain, GivesEveryCandidateThatIsNotSelectedAReason) {
  const Json rows = explain({"rms_norm"});
  ASSERT_EQ(rows.size(), 4U);  // one per variant
  for (const Json& row : rows) {
    EXPECT_EQ(row["selected"], "cpu.native.rms_norm");
    ASSERT_GE(row["implementations"].size(), 2U);
    for (const Json& candidate : row["implementations"]) {
      EXPECT_NE(candidate["reason"], "") << candidate;
      EXPECT_EQ(candidate["gate"] == "selected", candidate["name"] == row["selected"]);
    }
  }
}

TEST(Explain, VariantsThatFareAlikeShareAPage) {
  const std::string text = run_kw({"explain", "rms_norm"}).out;
  EXPECT_EQ(text.rfind("rms_norm/standard, fp32, qwen3_5, unweighted\n", 0), 0U) << text;
  EXPECT_NE(text.find("*  default"), std::string::npos) << text;
  EXPECT_NE(text.find("an oracle: bound only when named"), std::string::npos) << text;
}

TEST(Explain, PrecedenceIsVisible) {
  const TemporaryFolder folder;
  const std::string yaml = folder.write(
      "c.yaml",
      "model:\n  ops_implementation:\n    rms_norm_implementation: [native, reference]\n");
  const std::vector<std::string> arguments{"rms_norm/fp32", "--config", yaml, "--implementation",
                                           "native"};
  const Json file = explain({"rms_norm/fp32", "--config", yaml})[0]["choices"];
  ASSERT_EQ(file.size(), 2U);
  EXPECT_EQ(file[1]["source"], "file");
  EXPECT_TRUE(file[1]["in_effect"].get<bool>());
  EXPECT_NE(file[1]["origin"].get<std::string>().find("c.yaml:3"), std::string::npos) << file;

  const RunOptions environment{{"KW_OVERRIDE_RMS_NORM=reference"}, "", false};
  const Json row = explain(arguments, environment)[0];
  EXPECT_EQ(row["selected"], "cpu.reference.rms_norm");
  const Json& choices = row["choices"];
  ASSERT_EQ(choices.size(), 4U);
  const char* const sources[] = {"default", "file", "explicit", "environment"};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(choices[i]["source"], sources[i]);
    EXPECT_EQ(choices[i]["in_effect"].get<bool>(), i == 3);
  }
  EXPECT_EQ(choices[2]["origin"], "--implementation");
  EXPECT_EQ(choices[3]["origin"], "KW_OVERRIDE_RMS_NORM");
}

TEST(Explain, AProblemComesAsOneWordAsSeveralOrByFlag) {
  const Json one = explain({kProblem});
  EXPECT_EQ(explain({"rms_norm/standard", "x=bf16[4,64]", "weight=bf16[64]"}), one);
  EXPECT_EQ(explain({"--problem", kProblem}), one);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0]["problem"], kProblem);
  EXPECT_NE(one[0]["specialization"], "");
  EXPECT_EQ(explain({"rms_norm/{standard,fp32} x=bf16[4,{C:64,65}] weight=bf16[{C}]"}).size(), 4U);
}

TEST(Explain, AnExactNameImpliesItsOperation) {
  const Json rows = explain({"--implementation", "cpu.reference.rms_norm", "--variant", "fp32"});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["selected"], "cpu.reference.rms_norm");
}

TEST(Explain, WhatNothingServesEndsWithThree) {
  const Json rows = explain({"rms_norm/standard x=f64[4,64] weight=f64[64]"}, {}, 3);
  EXPECT_EQ(rows[0]["selected"], "");
  bool rejected = false;
  for (const Json& candidate : rows[0]["implementations"]) {
    EXPECT_NE(candidate["reason"], "");
    rejected |= candidate["gate"] == "problem";
  }
  EXPECT_TRUE(rejected) << rows;
}

TEST(Explain, EagerByChoiceIsServedByTheModel) {
  const Finished finished = run_kw({"explain", "rms_norm", "--implementation", "eager"});
  EXPECT_EQ(finished.code, 0);
  EXPECT_NE(finished.out.find("the model's own code"), std::string::npos) << finished.out;
}

}  // namespace
}  // namespace kw::test
