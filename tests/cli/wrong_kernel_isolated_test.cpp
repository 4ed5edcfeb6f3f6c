// SPDX-License-Identifier: Apache-2.0
// The commands in this process, with implementations registered that are wrong: a failed check is
// exit code 1 and a defect is 5. Every case has a process, for the catalog freezes once.
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include "cli/support/run_kw.hpp"
#include "kernelwright/cli/app.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "support/report_schema.hpp"

namespace kw::cli {
namespace {

constexpr const char* kProblem = "rms_norm/standard x=bf16[4,64] weight=bf16[64]";

std::optional<Rejection> throws_logic_error(void*, const Problem&, const Hardware&) {
  throw std::logic_error("a table has no such row");
}

Implementation does_nothing() {
  Implementation implementation;
  implementation.info.name = "cpu.lazy.rms_norm";
  implementation.info.description = "returns without writing";
  implementation.info.solution = "lazy";
  implementation.info.origin = "test";
  implementation.functions = {
      .supports = [](void*, const Problem&, const Hardware&) { return std::optional<Rejection>(); },
      .workspace = [](void*, const Problem&) { return WorkspaceSize{}; },
      .choose =
          [](void*, const Problem&, const Hardware&, const CfgPins&) {
            return Specialization{"{}", nullptr};
          },
      .prepare = [](void*, PrepareRequest&) -> void* { return nullptr; },
      .launch = [](const void*, const void*, const LaunchFrame&) noexcept { return Status{}; },
      .destroy = [](void*) noexcept {},
      .describe = [](const void*) { return PlanFacts{}; }};
  return implementation;
}

struct Output {
  std::ostringstream out, err;
  Console console{out, err};
};

TEST(ExitCode, AFailedCheckIsOneAndNamesTheReproLast) {
  builtin_catalog().register_implementation("rms_norm", does_nothing());
  Output output;
  const ExitCode code =
      run({"numerics", "--implementation", "lazy", "--problem", kProblem}, output.console);
  EXPECT_EQ(code, ExitCode::kCheckFailed) << output.err.str();
  const std::string text = output.out.str();
  const auto repro = text.find("  kw numerics --implementation cpu.lazy.rms_norm --problem '");
  ASSERT_NE(repro, std::string::npos) << text;
  EXPECT_GT(repro, text.find(kProblem)) << "failures come after the table";
  EXPECT_NE(text.find("unwritten_output", text.find(kProblem)), std::string::npos) << text;
  EXPECT_NE(text.find("1 failed"), std::string::npos) << text;
}

TEST(ExitCode, AFailedKernelIsNotTimed) {
  builtin_catalog().register_implementation("rms_norm", does_nothing());
  Output output;
  const ExitCode code =
      run({"bench", "--implementation", "lazy", "--problem", kProblem, "--iterations", "3"},
          output.console);
  EXPECT_EQ(code, ExitCode::kCheckFailed) << output.err.str();
  EXPECT_EQ(output.out.str().find(" us +-"), std::string::npos) << output.out.str();
}

TEST(Replay, OfARecordedFailureShowsTheSameCodeUntilItIsRepaired) {
  builtin_catalog().register_implementation("rms_norm", does_nothing());
  const test::TemporaryFolder folder;
  const std::string report = folder.path("r.json");
  Output numerics;
  EXPECT_EQ(run({"numerics", "--quiet", "--implementation", "lazy", "--problem", kProblem,
                 "--output", report},
                numerics.console),
            ExitCode::kCheckFailed);
  EXPECT_EQ(test::schema_problems(test::TemporaryFolder::read(report)), "");

  Output again;
  EXPECT_EQ(run({"replay", report}, again.console), ExitCode::kCheckFailed) << again.err.str();
  EXPECT_NE(again.out.str().find("was: unwritten_output"), std::string::npos) << again.out.str();
  EXPECT_NE(again.out.str().find("now: failed unwritten_output again"), std::string::npos)
      << again.out.str();
  Output repaired;
  EXPECT_EQ(run({"replay", report, "--implementation", "cpu.native.rms_norm"}, repaired.console),
            ExitCode::kPassed)
      << repaired.err.str();
  EXPECT_NE(repaired.out.str().find("now: passed"), std::string::npos) << repaired.out.str();

  const auto file = std::filesystem::directory_iterator(folder.path("r.tensors"))->path();
  Output alone;
  EXPECT_EQ(run({"replay", file}, alone.console), ExitCode::kCheckFailed) << alone.err.str();
  std::fstream(file, std::ios::in | std::ios::out | std::ios::ate).seekp(-1, std::ios::end) << 'x';
  for (const std::string& path : {report, file.string()}) {
    Output damaged;
    EXPECT_EQ(run({"replay", path}, damaged.console), ExitCode::kUsage);
    EXPECT_NE(damaged.err.str().find("is damaged"), std::string::npos) << damaged.err.str();
  }
}

TEST(ExitCode, ADefectIsFive) {
  Implementation broken = does_nothing();
  broken.functions.supports = throws_logic_error;
  builtin_catalog().register_implementation("rms_norm", std::move(broken));
  Output output;
  EXPECT_EQ(run({"explain", kProblem}, output.console), ExitCode::kInternal);
  EXPECT_NE(output.err.str().find("a table has no such row"), std::string::npos)
      << output.err.str();
}

TEST(ExitCode, AVariantThatTheNamedOneLacksIsThreeWithTheReason) {
  Implementation partial = does_nothing();
  partial.info.variants = {"standard"};
  builtin_catalog().register_implementation("rms_norm", std::move(partial));
  Output output;
  EXPECT_EQ(run({"explain", "rms_norm/qwen3_5", "--implementation", "lazy"}, output.console),
            ExitCode::kNothingPassed);
  EXPECT_NE(output.out.str().find("serves variant standard, not qwen3_5"), std::string::npos)
      << output.out.str();
  Output numerics;
  EXPECT_EQ(run({"numerics", "--implementation", "cpu.lazy.rms_norm", "--variant", "qwen3_5"},
                numerics.console),
            ExitCode::kNothingPassed);
  EXPECT_NE(numerics.out.str().find("not_implemented"), std::string::npos) << numerics.out.str();
}

TEST(ExitCode, EveryCodeOfTheLibraryHasOne) {
  EXPECT_EQ(exit_code(Code::kInvalidArgument), ExitCode::kUsage);
  EXPECT_EQ(exit_code(Code::kNotFound), ExitCode::kUsage);
  EXPECT_EQ(exit_code(Code::kUnsupported), ExitCode::kUsage);
  EXPECT_EQ(exit_code(Code::kConflict), ExitCode::kUsage);
  EXPECT_EQ(exit_code(Code::kEnvironment), ExitCode::kEnvironment);
  EXPECT_EQ(exit_code(Code::kInternal), ExitCode::kInternal);
}

}  // namespace
}  // namespace kw::cli
