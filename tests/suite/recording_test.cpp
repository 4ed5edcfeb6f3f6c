// SPDX-License-Identifier: Apache-2.0
// A failed case comes back from its recording with the same code, whatever fills mean by then.
#include "kernelwright/suite/recording.hpp"

#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kernelwright/suite/report_file.hpp"
#include "kernelwright/suite/selftest/probe.hpp"
#include "suite/support/host_device.hpp"
#include "support/expect_error.hpp"
#include "support/report_schema.hpp"

namespace kw::suite {
namespace {

struct World {
  Catalog catalog;
  test::HostDevice device;
  Platform platform{catalog, device, {}, {}};

  explicit World(Sabotage sabotage) { add_probes(catalog, sabotage); }
};

class Recording : public testing::Test {
 protected:
  Recording() { std::filesystem::create_directories(path_); }
  ~Recording() override { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ / name; }

  // A report of `problems` with recordings, written to report.json.
  NumericsReport run(World& world, std::vector<std::string> problems, const std::string& fill,
                     std::int64_t limit = kRecordedBytes) {
    NumericsRequest request;
    request.implementation = "cpu.toy.affine";
    request.problems = std::move(problems);
    request.fills = {fill};
    NumericsReport report = run_numerics(request, world.platform);
    record_failures(report, request, world.platform, report_path(), limit);
    write_report(report, report_path());
    return report;
  }
  std::string report_path() const { return file("report.json"); }

 private:
  std::filesystem::path path_ = std::filesystem::temp_directory_path() / "kw_recording_test";
};

constexpr const char* kProblem = "affine/one x=bf16[16,64] gain=bf16[64]";

TEST_F(Recording, ReplaysWithTheSameCodeAndPassesOnceRepaired) {
  World broken(Sabotage::kSwallowNan), repaired(Sabotage::kNone);
  const NumericsReport report = run(broken, {kProblem}, "nan_row");
  ASSERT_EQ(report.cases[0].reason, Reason::kNonfiniteMismatch) << report.cases[0].message;
  EXPECT_EQ(test::schema_problems(read_whole(report_path())), "");
  std::vector<RecordedCase> recorded = load_recordings(report_path(), "");
  ASSERT_EQ(recorded.size(), 1U);
  EXPECT_EQ(recorded[0].id, report.cases[0].id);
  EXPECT_EQ(replay_case(recorded[0], broken.platform).reason, Reason::kNonfiniteMismatch);
  EXPECT_EQ(replay_case(recorded[0], repaired.platform).status, CaseStatus::kPassed);
  // The bytes decide, not the fill that once made them.
  recorded[0].fill = "normal";
  EXPECT_EQ(replay_case(recorded[0], broken.platform).reason, Reason::kNonfiniteMismatch);
}

TEST_F(Recording, StandsAloneAndNoticesDamage) {
  World broken(Sabotage::kZeros);
  const NumericsReport report = run(broken, {kProblem}, "normal");
  const std::string path = file(report.cases[0].recording.file);
  const std::string text = read_whole(path);
  const RecordedCase recorded = load_recordings(path, "").front();
  EXPECT_EQ(recording_text(recorded), text);
  EXPECT_EQ(recorded.tensors.size(), 2U);
  EXPECT_EQ(recorded.tensors[0].bytes.size(), 2U * 16 * 64);
  for (const std::size_t at : {std::size_t{20}, std::size_t{120}, text.size() - 1}) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    test::expect_error(Code::kInvalidArgument, {"x.kwcase", "damaged"},
                       [&] { parse_recording(changed, "x.kwcase"); });
  }
  test::expect_error(Code::kInvalidArgument, {"no recording"}, [] { parse_recording("a", "x"); });
  write_whole(text + "x", path);
  test::expect_error(Code::kInvalidArgument, {"damaged", "SHA-256"},
                     [&] { load_recordings(report_path(), ""); });
}

TEST_F(Recording, KeepsWithinItsLimitAndSaysWhatItLeftOut) {
  World broken(Sabotage::kZeros);
  const NumericsReport report =
      run(broken, {kProblem, "affine/one x=bf16[64,512] gain=bf16[512]"}, "normal", 10'000);
  EXPECT_FALSE(report.cases[0].recording.file.empty());
  EXPECT_TRUE(report.cases[1].recording.file.empty());
  EXPECT_NE(report.cases[1].recording.omitted.find("needs 0.1 MB"), std::string::npos);
  EXPECT_EQ(test::schema_problems(read_whole(report_path())), "");
  const std::string first = report.cases[0].id, second = report.cases[1].id;
  test::expect_error(Code::kNotFound, {second, "needs 0.1 MB", "recorded are " + first},
                     [&] { load_recordings(report_path(), second); });
  test::expect_error(Code::kNotFound, {"no case 'abc'", first},
                     [&] { load_recordings(report_path(), "abc"); });
}

TEST_F(Recording, WhatPassedIsNotRecorded) {
  World right(Sabotage::kNone);
  const NumericsReport report = run(right, {kProblem}, "normal");
  EXPECT_FALSE(std::filesystem::exists(file("report.tensors")));
  test::expect_error(Code::kNotFound, {"no failed case"},
                     [&] { load_recordings(report_path(), ""); });
  test::expect_error(Code::kNotFound, {"it is passed"},
                     [&] { load_recordings(report_path(), report.cases[0].id); });
}

TEST_F(Recording, TensorsOfAnotherProblemAreRefused) {
  World broken(Sabotage::kZeros);
  run(broken, {kProblem}, "normal");
  RecordedCase recorded = load_recordings(report_path(), "").front();
  recorded.problem = "affine/one x=bf16[8,64] gain=bf16[64]";
  const CaseResult result = replay_case(recorded, broken.platform);
  EXPECT_EQ(result.status, CaseStatus::kError);
  EXPECT_NE(result.message.find("bytes for a tensor of"), std::string::npos) << result.message;
}

}  // namespace
}  // namespace kw::suite
