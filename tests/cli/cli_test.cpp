// SPDX-License-Identifier: Apache-2.0
// The binary from outside: help, names, exit codes, streams, and the errors that a user can make.
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/support/run_kw.hpp"

namespace kw::test {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> kCommands{"list",   "explain",  "numerics", "bench", "compare",
                                         "replay", "evidence", "report",   "tune",  "precompile",
                                         "cache",  "doctor",   "demo"};

void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: " << text;
  }
}

// A refusal: its exit code, nothing on stdout, one error with these words on stderr.
void expect_refusal(const std::vector<std::string>& arguments, int code,
                    std::initializer_list<const char*> words, const RunOptions& options = {}) {
  const Finished finished = run_kw(arguments, options);
  EXPECT_EQ(finished.code, code) << finished.out << finished.err;
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(finished.err.rfind("error: ", 0), 0U) << finished.err;
  expect_words(finished.err, words);
}

TEST(Help, OfTheProgramNamesExactlyTheCommandsThatExist) {
  const Finished finished = run_kw({"--help"});
  EXPECT_EQ(finished.code, 0);
  EXPECT_EQ(finished.err, "");
  for (const std::string& command : kCommands) expect_words(finished.out, {command.c_str()});
  for (const char* later : {"serve"}) {
    EXPECT_EQ(finished.out.find("  " + std::string(later) + " "), std::string::npos) << later;
    expect_refusal({later}, 2, {"unknown command", later, "known: list, explain"});
  }
}

TEST(Help, OfEveryCommandAndAFlagMeansOneThingEverywhere) {
  std::map<std::string, std::string> meanings;
  for (const std::string& command : kCommands) {
    const Finished finished = run_kw({command, "--help"});
    EXPECT_EQ(finished.code, 0) << command;
    EXPECT_EQ(finished.err, "");
    expect_words(finished.out, {command.c_str(), "-h,--help"});
    std::istringstream lines(finished.out);
    for (std::string line; std::getline(lines, line);) {
      const auto flag = line.find("  --");
      if (flag != 0) continue;
      const std::string name = line.substr(2, line.find(' ', 2) - 2);
      const auto [known, is_new] = meanings.emplace(name, line);
      EXPECT_EQ(known->second, line) << "in " << command;
    }
  }
  EXPECT_GE(meanings.size(), 20U);
}

TEST(Help, WithAnOperationShowsWhatItTakesAndTouchesNoDevice) {
  // Opening the device would fail on this variable.
  const RunOptions broken{{"KW_NUM_THREADS=none"}, "", false};
  const Finished finished = run_kw({"numerics", "--operation", "rms_norm", "--help"}, broken);
  EXPECT_EQ(finished.code, 0) << finished.err;
  expect_words(finished.out, {"--problem", "variants", "qwen3_5", "parameters", "weight", "[*, C]",
                              "eps", "batches", "smoke", "ci", "full"});
  const Finished implied =
      run_kw({"bench", "--implementation", "cpu.native.rms_norm", "--help"}, broken);
  expect_words(implied.out, {"parameters", "weight"});
  expect_refusal({"numerics", "--operation", "rms_nrm", "--help"}, 2, {"did you mean 'rms_norm'?"});
}

TEST(Usage, VersionAndNothing) {
  EXPECT_EQ(run_kw({"--version"}).out, "kw 0.1.0\n");
  const Finished nothing = run_kw({});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_EQ(nothing.out, "");
  expect_words(nothing.err, {"list", "doctor"});
}

TEST(Usage, WrongNamesAreAnsweredWithTheNearest) {
  expect_refusal({"lsit"}, 2, {"unknown command 'lsit'", "did you mean 'list'?"});
  expect_refusal({"numerics", "--opertion", "rms_norm"}, 2,
                 {"unknown flag '--opertion'", "did you mean '--operation'?"});
  expect_refusal({"doctor", "--operation", "rms_norm"}, 2, {"kw doctor", "unknown flag"});
  expect_refusal({"list", "rms_norm"}, 2, {"takes no word 'rms_norm'", "kw list --help"});
  expect_refusal({"numerics", "--operation"}, 2, {"--operation", "kw numerics --help"});
  expect_refusal({"numerics", "--seed", "twelve"}, 2, {"--seed", "twelve"});
  expect_refusal({"bench", "--iterations", "0"}, 2, {"--iterations"});
  expect_refusal({"list", "--operation", "rms_norm_bakward"}, 2,
                 {"unknown operation", "did you mean 'rms_norm_backward'?"});
  expect_refusal({"explain", "rms_norm", "--variant", "standart"}, 2,
                 {"unknown variant 'standart'", "did you mean 'standard'?"});
  expect_refusal({"numerics", "--operation", "rms_norm", "--dtype", "bf17"}, 2,
                 {"unknown dtype 'bf17'", "did you mean 'bf16'?"});
  expect_refusal({"numerics", "--operation", "rms_norm", "--batch", "smok"}, 2,
                 {"unknown batch 'smok'", "did you mean 'smoke'?"});
  expect_refusal({"numerics", "--operation", "rms_norm", "--fill", "nromal"}, 2, {"normal"});
  expect_refusal({"explain", "rms_norm", "--mode", "egaer"}, 2, {"egaer", "eager", "graph"});
}

TEST(Usage, RequestsThatContradictThemselves) {
  expect_refusal({"explain"}, 2, {"needs an operation", "rms_norm"});
  expect_refusal({"explain", "rms_norm", "--operation", "rms_norm_backward"}, 2, {"contradicts"});
  expect_refusal({"numerics", "--operation", "rms_norm_backward", "--problem",
                  "rms_norm/standard x=bf16[2,8] weight=bf16[8]"},
                 2, {"not of operation 'rms_norm_backward'"});
  expect_refusal({"numerics", "--variant", "fp32"}, 2, {"variant 'fp32'", "--operation"});
  expect_refusal({"numerics", "--operation", "rms_norm", "--shard", "3/2"}, 2, {"--shard '3/2'"});
  expect_refusal({"numerics", "--operation", "rms_norm", "--fuzz", "many"}, 2, {"--fuzz 'many'"});
  expect_refusal({"numerics", "--operation", "rms_norm", "--fuzz", "3", "--batch", "ci"}, 2,
                 {"--fuzz excludes"});
  expect_refusal({"numerics", "--operation", "rms_norm", "--cfg", "isa"}, 2, {"field=value"});
}

TEST(Errors, ProblemsThatBreakTheContract) {
  expect_refusal({"explain", "rms_norm/standard x=bf16[4,7168] weight=bf16[7167]"}, 2,
                 {"weight", "7167", "7168"});
  expect_refusal({"numerics", "--problem", "rms_norm/standard x=bf16[4,64] weight=f16[64]"}, 2,
                 {"weight", "f16", "bf16"});
  expect_refusal({"bench", "--problem", "rms_norm/unweighted x=bf16[4,64] weight=bf16[64]"}, 2,
                 {"weight", "variant"});
}

TEST(Errors, ImplementationsThatCannotServe) {
  expect_refusal({"explain", "rms_norm", "--implementation", "natve"}, 2,
                 {"--implementation", "unknown implementation 'natve'", "did you mean 'native'?"});
  expect_refusal({"numerics", "--operation", "rms_norm", "--implementation", "natve"}, 2,
                 {"did you mean 'native'?"});
  for (const char* command : {"explain", "numerics"}) {
    expect_refusal({command, "--operation", "rms_norm", "--implementation", "npu"}, 2,
                   {"'npu' is not on this device (cpu)", "torch_npu"});
    expect_refusal({command, "--operation", "rms_norm", "--implementation", "liger_kernel"}, 2,
                   {"liger_kernel", "needs plugin"});
  }
  expect_refusal({"explain", "rms_norm"}, 2, {"KW_OVERRIDE_RMS_NORM", "natve", "native"},
                 {{"KW_OVERRIDE_RMS_NORM=natve"}, "", false});
  expect_refusal({"numerics", "--operation", "rms_norm", "--implementation", "native"}, 2,
                 {"cpu.native.rms_norm", "reference", "unset"},
                 {{"KW_OVERRIDE_RMS_NORM=reference"}, "", false});
}

TEST(Errors, DevicesFilesAndEnvironment) {
  expect_refusal({"explain", "rms_norm", "--device", "cuda:99"}, 4, {"no device cuda:99"});
  expect_refusal({"numerics", "--operation", "rms_norm", "--device", "cuda:99"}, 4, {"cuda:99"});
  expect_refusal({"explain", "rms_norm", "--device", "gpu"}, 2, {"gpu", "cuda"});
  expect_refusal({"explain", "rms_norm"}, 2, {"KW_NUM_THREADS", "'none'"},
                 {{"KW_NUM_THREADS=none"}, "", false});
  const TemporaryFolder folder;
  const std::string yaml =
      folder.write("c.yaml", "model:\n  ops_implementation:\n    rms_norm_implementaton: native\n");
  expect_refusal({"explain", "rms_norm", "--config", yaml}, 2,
                 {":3", "rms_norm_implementaton", "did you mean 'rms_norm_implementation'?"});
  EXPECT_NE(run_kw({"explain", "rms_norm", "--config", folder.path("none.yaml")}).code, 0);
  expect_refusal({"demo", "--text", folder.path("none.txt")}, 2, {"none.txt"});
}

TEST(Errors, AReportThatCannotBeWrittenCostsNoRun) {
  const TemporaryFolder folder;
  // Longer than any test may take, were it started.
  const std::vector<std::string> long_run{"numerics", "--operation", "rms_norm",
                                          "--fuzz",   "100000s",     "--output"};
  auto with = [&](const std::string& path) {
    std::vector<std::string> arguments = long_run;
    arguments.push_back(path);
    return arguments;
  };
  expect_refusal(with(folder.path("report.pdf")), 2, {"report.pdf", ".json", ".md", ".html"});
  expect_refusal(with(folder.path("absent/report.json")), 4, {"absent"});
}

TEST(Streams, AFullDiskIsAnError) {
  const Finished finished = run_kw({"list"}, {{}, "/dev/full", false});
  EXPECT_EQ(finished.code, 4);
  expect_words(finished.err, {"standard output"});
}

TEST(Streams, ColourOnlyOnATerminalAndNotAgainstNoColor) {
  EXPECT_EQ(run_kw({"list"}).out.find('\x1b'), std::string::npos);
  EXPECT_NE(run_kw({"list"}, {{}, "", true}).out.find("\x1b["), std::string::npos);
  EXPECT_EQ(run_kw({"list"}, {{"NO_COLOR=1"}, "", true}).out.find('\x1b'), std::string::npos);
  EXPECT_EQ(run_kw({"list"}, {{"TERM=dumb"}, "", true}).out.find('\x1b'), std::string::npos);
}

TEST(Streams, TheLogGoesToStandardErrorAtItsLevel) {
  const Finished silent = run_kw({"explain", "rms_norm"});
  EXPECT_EQ(silent.err, "");
  const Finished finished = run_kw({"explain", "rms_norm"}, {{"KW_LOG=info"}, "", false});
  expect_words(finished.err, {"info:", "kw,select,rms_norm/standard,cpu.native.rms_norm"});
  EXPECT_EQ(finished.out, silent.out);
}

TEST(List, ShowsOperationsImplementationsAndFields) {
  // The environment does not matter to it.
  const Finished finished = run_kw({"list"}, {{"KW_NUM_THREADS=none"}, "", false});
  EXPECT_EQ(finished.code, 0) << finished.err;
  expect_words(finished.out,
               {"rms_norm", "rms_norm_backward", "cpu.native.rms_norm", "cpu.reference.rms_norm",
                "only when named", "batch_invariant", "rms_norm_implementation",
                "attn_implementation", "not in this build"});
}

TEST(List, JsonHoldsContractsAndImplementations) {
  const Json all = Json::parse(run_kw({"list", "--json"}).out);
  EXPECT_EQ(all["schema"], "kw.list/1");
  EXPECT_GE(all["operations"].size(), 2U);
  const Json one = Json::parse(run_kw({"list", "--json", "--operation", "rms_norm"}).out);
  ASSERT_EQ(one["operations"].size(), 1U);
  const Json& operation = one["operations"][0];
  EXPECT_EQ(operation["operation"], "rms_norm");
  EXPECT_EQ(operation["parameters"][0]["name"], "x");
  EXPECT_EQ(operation["implementations"][0]["name"], "cpu.native.rms_norm");
  EXPECT_EQ(operation["implementations"][0]["rank"], 1);
}

TEST(Doctor, ReportsDeviceEnvironmentLibrariesAndProblems) {
  const Finished finished = run_kw({"doctor"}, {{"KW_NUM_THREADS=2"}, "", false});
  EXPECT_EQ(finished.code, 0) << finished.err;
  expect_words(finished.out, {"kw 0.1.0", "capability", "threads", "caches", "KW_CACHE_DIR",
                              "KW_OVERRIDE_<OPERATION>", "libkw.so", "absent", "cuda", "problems"});
  const Json json =
      Json::parse(run_kw({"doctor", "--json"}, {{"KW_NUM_THREADS=2"}, "", false}).out);
  EXPECT_EQ(json["schema"], "kw.doctor/1");
  EXPECT_EQ(json["devices"][0]["threads"], 2);
  EXPECT_TRUE(json["problems"].empty());
}

TEST(Doctor, ATypoWarnsAndABrokenValueFails) {
  const Finished typo = run_kw({"doctor"}, {{"KW_NUM_THREAD=2"}, "", false});
  EXPECT_EQ(typo.code, 0);
  expect_words(typo.out, {"warning", "KW_NUM_THREAD", "did you mean KW_NUM_THREADS?"});
  const Finished broken = run_kw({"doctor"}, {{"KW_NUM_THREADS=none"}, "", false});
  EXPECT_EQ(broken.code, 4);
  expect_words(broken.out, {"error", "KW_NUM_THREADS", "correct or unset", "absent"});
  const Finished unknown =
      run_kw({"doctor", "--json"}, {{"KW_OVERRIDE_RMS_NRM=native"}, "", false});
  EXPECT_EQ(unknown.code, 4);
  const Json json = Json::parse(unknown.out);
  ASSERT_EQ(json["problems"].size(), 1U);
  expect_words(json["problems"][0]["what"].get<std::string>(),
               {"KW_OVERRIDE_RMS_NRM", "did you mean 'KW_OVERRIDE_RMS_NORM'?"});
}

TEST(Demo, RunsOverATextAndAgrees) {
  const TemporaryFolder folder;
  const std::string text = folder.write("t.txt", "A short text is enough for the losses to agree.");
  const Finished finished = run_kw({"demo", "--text", text});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  expect_words(finished.out, {"rms_norm", "cpu.native.rms_norm", "agree"});
}

}  // namespace
}  // namespace kw::test
