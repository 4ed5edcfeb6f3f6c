// SPDX-License-Identifier: Apache-2.0
// kw numerics and kw bench over small problems, and what is done with their reports.
#include <csignal>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/support/run_kw.hpp"
#include "support/report_schema.hpp"

namespace kw::test {
namespace {

using Json = nlohmann::json;

constexpr const char* kProblem = "rms_norm/standard x=bf16[4,64] weight=bf16[64]";

void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: " << text;
  }
}

// Of text that the schema of reports accepts.
Json report_of(const std::string& text) {
  EXPECT_EQ(schema_problems(text), "");
  return Json::parse(text);
}

std::set<std::string> case_ids(const Json& report) {
  std::set<std::string> ids;
  for (const Json& row : report["cases"]) ids.insert(row["id"].get<std::string>());
  return ids;
}

TEST(Numerics, PassesWithATableAndCounts) {
  const Finished finished = run_kw({"numerics", "--problem", kProblem});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_EQ(finished.err, "");  // no progress away from a terminal
  expect_words(finished.out,
               {"status", "nrmse", "passed", "cpu.native.rms_norm", kProblem, "1 case in"});
  const Finished quiet = run_kw({"numerics", "--problem", kProblem, "--quiet"});
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.out.find(kProblem), std::string::npos) << quiet.out;
  expect_words(quiet.out, {"1 case in", "1 passed"});
}

TEST(Numerics, JsonCarriesTheRunAndItsExitCode) {
  const Finished finished = run_kw({"numerics", "--json", "--problem", kProblem, "--seed", "7",
                                    "--fill", "uniform", "--revision", "r1"});
  const Json report = report_of(finished.out);
  EXPECT_EQ(report["summary"]["exit_code"], finished.code);
  EXPECT_EQ(report["revision"], "r1");
  EXPECT_EQ(report["argv"][1], "numerics");
  ASSERT_EQ(report["cases"].size(), 1U);
  EXPECT_EQ(report["cases"][0]["seed"], 7);
  EXPECT_EQ(report["cases"][0]["fill"], "uniform");
}

TEST(Numerics, TheReproLineRunsTheSameCase) {
  const Json report =
      report_of(run_kw({"numerics", "--json", "--problem", kProblem, "--fill", "uniform"}).out);
  const std::string repro = report["cases"][0]["repro"];
  EXPECT_EQ(repro, std::string("kw numerics --implementation cpu.native.rms_norm --problem '") +
                       kProblem + "' --fill uniform");
  const Json again =
      report_of(run_kw({"numerics", "--json", "--implementation", "cpu.native.rms_norm",
                        "--problem", kProblem, "--fill", "uniform"})
                    .out);
  EXPECT_EQ(case_ids(again), case_ids(report));
}

TEST(Numerics, AnInterruptedRunLeavesAReportOfWhatItDid) {
  const TemporaryFolder folder;
  const std::string path = folder.path("r.json");
  for (const int signal : {SIGINT, SIGTERM}) {
    RunOptions options{{"KW_CACHE_DIR=" + folder.path("cache")}, "", true, signal};
    const Finished finished = run_kw(
        {"numerics", "--operation", "rms_norm", "--fuzz", "600s", "--output", path}, options);
    EXPECT_EQ(finished.code, 130) << finished.out;
    expect_words(finished.out, {"interrupted"});
    const Json report = report_of(TemporaryFolder::read(path));
    EXPECT_FALSE(report["complete"].get<bool>());
    EXPECT_EQ(report["summary"]["exit_code"], 130);
    EXPECT_GE(report["cases"].size(), 1U);
    EXPECT_EQ(report["summary"]["cases"], report["cases"].size());
    std::filesystem::remove(path);
  }
}

TEST(Bench, AnInterruptedRunLeavesAReportOfWhatItDid) {
  const TemporaryFolder folder;
  const std::string path = folder.path("r.json");
  const RunOptions options{{}, "", true, SIGINT};
  const Finished finished =
      run_kw({"bench", "--implementation", "cpu.native.rms_norm", "--iterations", "3", "--problem",
              "rms_norm/standard x=bf16[{1,2,3,4,5,6,7,8},64] weight=bf16[64]", "--output", path},
             options);
  EXPECT_EQ(finished.code, 130) << finished.out;
  const Json report = report_of(TemporaryFolder::read(path));
  EXPECT_FALSE(report["complete"].get<bool>());
  EXPECT_GE(report["cases"].size(), 1U);
  EXPECT_LT(report["cases"].size(), 8U);
}

TEST(Numerics, NothingSelectedAndNothingPassedEndWithThree) {
  const Finished none =
      run_kw({"numerics", "--operation", "rms_norm", "--dtype", "i32", "--batch", "smoke"});
  EXPECT_EQ(none.code, 3) << none.out;
  expect_words(none.err, {"selects no case"});
  const Finished declined = run_kw({"numerics", "--implementation", "native", "--problem",
                                    "rms_norm/standard x=f64[4,64] weight=f64[64]"});
  EXPECT_EQ(declined.code, 3) << declined.out;
  expect_words(declined.out, {"not_applicable", "domain_excluded"});
  expect_words(declined.err, {"no case passed"});
}

TEST(Numerics, AnImplementationOfAnotherDeviceSaysWhichDevice) {
  const Finished finished =
      run_kw({"numerics", "--operation", "rms_norm", "--implementation", "jit"});
  EXPECT_EQ(finished.code, 2) << finished.err;
  expect_words(finished.err, {"'jit' needs a cuda device", "give --device cuda",
                              "name one of native, reference"});
}

TEST(Numerics, ShardsPartitionTheCases) {
  const std::vector<std::string> request{"numerics", "--json", "--problem",
                                         "rms_norm/fp32 x=bf16[{1,2,3},{C:8,9}] weight=bf16[{C}]"};
  const auto ids_with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), request.begin(), request.end());
    return case_ids(report_of(run_kw(more).out));
  };
  const std::set<std::string> all = ids_with({});
  const std::set<std::string> first = ids_with({"--shard", "1/2"});
  std::set<std::string> both = ids_with({"--shard", "2/2"});
  EXPECT_EQ(all.size(), 6U);
  EXPECT_EQ(first.size(), 3U);
  both.insert(first.begin(), first.end());
  EXPECT_EQ(both, all);
}

TEST(Numerics, OutputFollowsTheSuffix) {
  const TemporaryFolder folder;
  const std::string json = folder.path("report.json"), markdown = folder.path("report.md");
  EXPECT_EQ(run_kw({"numerics", "--quiet", "--problem", kProblem, "--output", json}).code, 0);
  EXPECT_EQ(report_of(TemporaryFolder::read(json))["kind"], "numerics");
  EXPECT_EQ(run_kw({"numerics", "--quiet", "--problem", kProblem, "--output", markdown}).code, 0);
  EXPECT_EQ(TemporaryFolder::read(markdown).rfind("# kw numerics", 0), 0U);
  const std::string html = folder.path("report.html");
  EXPECT_EQ(run_kw({"numerics", "--quiet", "--problem", kProblem, "--output", html}).code, 0);
  EXPECT_EQ(TemporaryFolder::read(html).rfind("<!doctype html>", 0), 0U);
}

TEST(Numerics, FuzzIsReproducible) {
  const std::vector<std::string> request{"numerics", "--json", "--operation", "rms_norm",
                                         "--fuzz",   "4",      "--seed",      "5"};
  const Json report = report_of(run_kw(request).out);
  EXPECT_EQ(report["summary"]["cases"], 4);
  EXPECT_EQ(report["summary"]["exit_code"], 0) << report["summary"];
  EXPECT_EQ(case_ids(report_of(run_kw(request).out)), case_ids(report));
}

TEST(Numerics, PinsReachTheCfgAndUnknownOnesAreRefused) {
  const Finished unknown = run_kw({"numerics", "--problem", kProblem, "--cfg", "ias=avx2"});
  EXPECT_EQ(unknown.code, 2) << unknown.out;
  expect_words(unknown.err, {"--cfg", "ias", "isa"});
  const Json report =
      report_of(run_kw({"numerics", "--json", "--problem", kProblem, "--cfg", "threads=3"}).out);
  EXPECT_EQ(report["summary"]["exit_code"], 0);
  expect_words(report["cases"][0]["cfg"].get<std::string>(), {".threads = 3"});
  expect_words(report["cases"][0]["repro"].get<std::string>(), {"--cfg threads=3"});
}

TEST(Numerics, ProgressIsDrawnOnATerminalOnly) {
  const std::vector<std::string> request{"numerics", "--problem", kProblem};
  std::vector<std::string> quiet = request;
  quiet.push_back("--quiet");
  EXPECT_NE(run_kw(request, {{}, "", true}).out.find("\r\x1b[K"), std::string::npos);
  EXPECT_EQ(run_kw(quiet, {{}, "", true}).out.find("\r\x1b[K"), std::string::npos);
}

TEST(Bench, TimesWhatPassedBesideTheRoof) {
  const TemporaryFolder folder;
  const std::string path = folder.path("bench.json");
  const Finished finished = run_kw(
      {"bench", "--problem", kProblem, "--iterations", "5", "--warmup", "1", "--output", path});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  expect_words(finished.out, {"copy roof", "cold", "hot", "call", "GB/s", "of roof", kProblem});
  const Json report = report_of(TemporaryFolder::read(path));
  EXPECT_EQ(report["kind"], "bench");
  EXPECT_EQ(report["cases"][0]["status"], "passed");
  EXPECT_FALSE(report["cases"][0]["benchmark"].empty());
}

TEST(Report, TurnsJsonIntoTheOtherFormats) {
  const TemporaryFolder folder;
  const std::string json = folder.path("r.json"), html = folder.path("r.html");
  ASSERT_EQ(run_kw({"numerics", "--quiet", "--problem", kProblem, "--output", json}).code, 0);
  const Finished shown = run_kw({"report", json});
  EXPECT_EQ(shown.code, 0) << shown.err;
  expect_words(shown.out, {"# kw numerics", "1 cases: 1 passed", "cpu.native.rms_norm"});
  const Finished written = run_kw({"report", json, "--output", html});
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(written.out, "");
  expect_words(TemporaryFolder::read(html), {"<!doctype html>", "Coverage", "<svg"});
}

TEST(Report, RefusesWhatItCannotRead) {
  const TemporaryFolder folder;
  const auto refuse = [&](const std::vector<std::string>& request,
                          std::initializer_list<const char*> words) {
    const Finished finished = run_kw(request);
    EXPECT_EQ(finished.code, 2) << finished.out;
    expect_words(finished.err, words);
  };
  refuse({"report"}, {"one file"});
  refuse({"report", folder.path("none.json")}, {"none.json"});
  refuse({"report", folder.write("a.json", "{}")}, {"kw.report/1"});
  refuse({"report", folder.write("b.json", R"({"schema": "kw.report/1", "kind": "tea"})")},
         {"unknown kind 'tea'", "numerics, bench, compare"});
  refuse({"report", folder.path("none.json"), "--output", folder.path("r.pdf")}, {".html"});
}

// What the error says is what has to be done, word by word.
TEST(Evidence, TheCommandThatExplainNamesMakesIt) {
  const TemporaryFolder folder;
  const RunOptions options{{"KW_CACHE_DIR=" + folder.path("cache")}, "", false};
  const std::string yaml =
      folder.write("run.yaml", "model:\n  require_evidence: true\n  ops_implementation: {}\n");
  const auto explain = [&](const std::string& problem) -> Json {
    const Finished finished = run_kw({"explain", problem, "--config", yaml, "--json"}, options);
    EXPECT_EQ(finished.code, 0) << finished.err;
    return Json::parse(finished.out)["explanations"][0]["evidence"];
  };
  const std::string any = "rms_norm/standard x=bf16[?,64] weight=bf16[64]";
  const Json none = explain(any);
  EXPECT_TRUE(none["required"].get<bool>());
  EXPECT_EQ(none["origin"], yaml + ":2: model.require_evidence");
  EXPECT_FALSE(none["found"].get<bool>());
  const std::string text = none["text"];
  expect_words(text, {"there is none in", "If it is right"});
  const std::string command = text.substr(text.find('`') + 1, text.rfind('`') - text.find('`') - 1);
  EXPECT_EQ(command,
            "kw numerics --implementation cpu.native.rms_norm --problem 'rms_norm/standard "
            "x=bf16[16,64] weight=bf16[64]'");

  ASSERT_EQ(
      run_kw({"numerics", "--implementation", "cpu.native.rms_norm", "--problem",
              command.substr(command.find('\'') + 1, command.rfind('\'') - command.find('\'') - 1),
              "--quiet"},
             options)
          .code,
      0);
  for (const char* rows : {"?", "4096"}) {
    const Json some =
        explain("rms_norm/standard x=bf16[" + std::string(rows) + ",4096] weight=bf16[4096]");
    EXPECT_TRUE(some["found"].get<bool>()) << some;
    expect_words(some["text"].get<std::string>(), {"single problems, 1 case"});
  }
  const Json other = explain("rms_norm/standard x=f32[16,64] weight=f32[64]");
  EXPECT_FALSE(other["found"].get<bool>());
  expect_words(other["text"].get<std::string>(),
               {"what is stored is of problems that run {", "bf16", ", not {", "x=f32[16,64]"});
  const Json evidence =
      Json::parse(run_kw({"evidence", "list", "--json"}, options).out)["evidence"];
  ASSERT_EQ(evidence.size(), 1U);
  EXPECT_EQ(evidence[0]["batch"], "single problems");
  EXPECT_EQ(evidence[0]["problems"][0]["problem"],
            "rms_norm/standard x=bf16[16,64] weight=bf16[64]");
  const Finished page = run_kw({"explain", any, "--config", yaml}, options);
  expect_words(page.out, {"evidence", "required (", "there is: single problems"});
  const Finished doctor = run_kw({"doctor"}, options);
  expect_words(doctor.out, {"1 in ", "1 of them of this machine", "model.require_evidence"});
}

TEST(Evidence, ComesFromAWholeBatchAndIsListed) {
  const TemporaryFolder folder;
  const RunOptions options{{"KW_CACHE_DIR=" + folder.path("cache")}, "", false};
  const auto listed = [&] {
    return Json::parse(run_kw({"evidence", "list", "--json"}, options).out)["evidence"];
  };
  // Neither a smoke batch nor a part of one that counts proves anything.
  run_kw({"numerics", "--quiet", "--implementation", "cpu.native.rms_norm"}, options);
  run_kw({"numerics", "--quiet", "--implementation", "cpu.native.rms_norm", "--batch", "ci",
          "--shard", "1/400"},
         options);
  EXPECT_TRUE(listed().empty());
  const Finished none = run_kw({"evidence", "show", "ab"}, options);
  EXPECT_EQ(none.code, 2);
  expect_words(none.err, {"ab", "kw evidence list"});
  EXPECT_EQ(run_kw({"evidence"}, options).code, 2);
}

TEST(Replay, SaysWhatIsMissing) {
  const TemporaryFolder folder;
  const std::string json = folder.path("r.json");
  ASSERT_EQ(run_kw({"numerics", "--quiet", "--problem", kProblem, "--output", json}).code, 0);
  const Finished passed = run_kw({"replay", json});
  EXPECT_EQ(passed.code, 2);
  expect_words(passed.err, {"no failed case with recorded tensors"});
  const Finished unknown = run_kw({"replay", json, "--case", "77"});
  EXPECT_EQ(unknown.code, 2);
  expect_words(unknown.err, {"no case '77'", "nothing is recorded"});
}

}  // namespace
}  // namespace kw::test
