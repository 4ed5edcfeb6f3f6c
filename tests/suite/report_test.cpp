// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/report.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kernelwright/base/error.hpp"
#include "kernelwright/suite/report_file.hpp"
#include "suite/support/host_device.hpp"
#include "suite/support/sample_report.hpp"
#include "support/expect_error.hpp"
#include "support/report_schema.hpp"

namespace kw::suite {
namespace {

using test::sample_bench_report;
using test::sample_report;

// Of a report that the schema accepts.
nlohmann::json valid(const std::string& text) {
  EXPECT_EQ(test::schema_problems(text), "");
  return nlohmann::json::parse(text);
}

TEST(Report, JsonHoldsSummaryCasesAndReasons) {
  const auto json = valid(to_json(sample_report()));
  EXPECT_EQ(json["schema"], "kw.report/1");
  EXPECT_EQ(json["summary"]["passed"], 1);
  EXPECT_EQ(json["summary"]["failed"], 1);
  EXPECT_EQ(json["summary"]["exit_code"], 1);
  EXPECT_EQ(json["summary"]["by_reason"]["oob_write"], 1);
  EXPECT_EQ(json["cases"][0]["status"], "passed");
  EXPECT_FALSE(json["cases"][0].contains("reason"));
  EXPECT_EQ(json["cases"][0]["numerics"][0]["max_rel"], "inf");
  EXPECT_EQ(json["cases"][1]["reason"]["code"], "oob_write");
  EXPECT_EQ(json["cases"][1]["checks"][0]["reason"]["message"], "written outside");
  EXPECT_EQ(json["cases"][1]["repro"], sample_report().cases[1].repro);
}

TEST(Report, MetadataCannotReplaceIdentity) {
  NumericsReport report = sample_report();
  report.header.metadata = {
      {"kind", "bench"}, {"schema", "mine"}, {"summary", "all fine"}, {"job", "17"}};
  const auto json = valid(to_json(report));
  EXPECT_EQ(json["kind"], "numerics");
  EXPECT_EQ(json["schema"], "kw.report/1");
  EXPECT_EQ(json["summary"]["failed"], 1);
  EXPECT_EQ(json["metadata"]["kind"], "bench");
  EXPECT_EQ(json["metadata"]["job"], "17");
}

TEST(Report, TextThatIsNotUtf8DoesNotStopWriting) {
  NumericsReport report = sample_report();
  report.cases[1].message = "\xff\xfe";
  valid(to_json(report));
}

TEST(Report, MarkdownNamesFailuresWithTheirRepro) {
  const std::string text = to_markdown(sample_report());
  EXPECT_NE(text.find("2 cases: 1 passed, 1 failed"), std::string::npos);
  EXPECT_NE(text.find("`oob_write`"), std::string::npos);
  EXPECT_NE(text.find(sample_report().cases[1].repro), std::string::npos);
  EXPECT_NE(text.find("| cpu.toy.affine | one | y | 1 | 0.0016 | 89 % |"), std::string::npos)
      << text;
}

TEST(Report, ExitCodes) {
  Counts counts;
  EXPECT_EQ(counts.exit_code(), 3);
  counts.mistrusted = counts.not_applicable = counts.skipped = 5;
  EXPECT_EQ(counts.exit_code(), 3);
  counts.passed = 1;
  EXPECT_EQ(counts.exit_code(), 0);
  counts.error = 1;
  EXPECT_EQ(counts.exit_code(), 1);
}

TEST(Report, AFailedRowFailsABench) {
  BenchReport report;
  report.rows.resize(1);
  EXPECT_EQ(report.exit_code(), 0);
  report.rows[0].numerics.status = CaseStatus::kFailed;
  EXPECT_EQ(report.exit_code(), 1);
  report.rows[0].numerics.status = CaseStatus::kNotApplicable;
  EXPECT_EQ(report.exit_code(), 3);
}

TEST(Report, BenchShowsColdHotAndRoof) {
  BenchReport report = sample_bench_report();
  BenchRow& row = report.rows[0];
  row.limiter = "memory";
  row.roof_us = 0.9;
  row.speed_of_light = 0.9;
  row.flags = {"not_cold"};
  EXPECT_NE(to_markdown(report).find("| cpu.toy.affine | affine/one x=f32[4,8] | 1.00 us +-0.0 % | "
                                     "- | - | 18.00 | 90 % | 0.000 "
                                     "| 0.00 | memory | 0.90 | 90 % | not_cold |"),
            std::string::npos)
      << to_markdown(report);
  const auto json = valid(to_json(report));
  EXPECT_EQ(json["roofs"]["copy"]["method"], "memcpy");
  EXPECT_EQ(json["cases"][0]["benchmark"][0]["median"], 1000);
  EXPECT_EQ(json["cases"][0]["roofline"]["share_of_copy_roof"], 0.9);
}

TEST(Report, WritesWholeFilesBySuffix) {
  const auto folder = std::filesystem::temp_directory_path() / "kw_report_test";
  std::filesystem::create_directories(folder);
  const std::string json = folder / "r.json";
  write_report(sample_report(), json);
  std::ifstream file(json);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), to_json(sample_report()));
  EXPECT_FALSE(std::filesystem::exists(json + ".partial"));
  EXPECT_THROW(write_report(sample_report(), folder / "r.xml"), Error);
  EXPECT_THROW(write_report(sample_report(), "/nonexistent/r.json"), Error);
  std::filesystem::remove_all(folder);
}

TEST(Report, TheEnvironmentNamesDeviceAndBuild) {
  test::HostDevice device;
  const Facts facts = describe_environment(device);
  std::string text;
  for (const auto& [name, value] : facts) text += name + "=" + value + "\n";
  EXPECT_NE(text.find("model=test host"), std::string::npos) << text;
  EXPECT_NE(text.find("compiler="), std::string::npos);
  EXPECT_EQ(utc_now().size(), std::string("2026-01-01T00:00:00Z").size());
}

}  // namespace
}  // namespace kw::suite
