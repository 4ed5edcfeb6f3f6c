// SPDX-License-Identifier: Apache-2.0
// Markdown and HTML from one page, and a report read back from its file.
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kernelwright/suite/comparison.hpp"
#include "kernelwright/suite/report_file.hpp"
#include "suite/support/sample_report.hpp"
#include "support/expect_error.hpp"

namespace kw::suite {
namespace {

using test::sample_bench_report;
using test::sample_report;

class Folder : public testing::Test {
 protected:
  Folder() { std::filesystem::create_directories(path_); }
  ~Folder() override { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_ = std::filesystem::temp_directory_path() / "kw_report_page_test";
};

bool contains(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

TEST(ReportPage, HtmlIsOneFileThatAsksForNothing) {
  for (const std::string& html : {to_html(sample_report()), to_html(sample_bench_report())}) {
    EXPECT_TRUE(html.starts_with("<!doctype html>"));
    for (const char* foreign : {"http:", "https:", "<script", "<link", "@import", "url(", "src="})
      EXPECT_FALSE(contains(html, foreign)) << foreign;
    EXPECT_TRUE(contains(html, "prefers-color-scheme: dark"));
    EXPECT_TRUE(contains(html, "<svg"));
  }
}

TEST(ReportPage, FailuresComeFirstWithTheirCommand) {
  const std::string html = to_html(sample_report());
  const std::size_t failure = html.find("oob_write");
  EXPECT_LT(failure, html.find("By implementation"));
  EXPECT_TRUE(contains(html, "<pre>kw numerics --implementation cpu.toy.affine --problem"));
}

TEST(ReportPage, TextOfOthersStaysText) {
  NumericsReport report = sample_report();
  report.cases[1].message = "<script>alert('x')</script> & \"y\"";
  EXPECT_TRUE(contains(to_html(report), "&lt;script&gt;alert('x')&lt;/script&gt; &amp; &quot;y"));
}

TEST(ReportPage, AnExceededLimitIsSaid) {
  NumericsReport report = sample_report();
  report.cases.pop_back();
  report.coverage[0].cases = 4;
  report.coverage[0].domain_excluded = 2;
  report.coverage[0].limit = 0.25;
  report.coverage[0].not_applicable.values = {{"domain_excluded", 2}};
  EXPECT_EQ(report.exit_code(), 3);
  for (const std::string& text : {to_markdown(report), to_html(report)})
    EXPECT_TRUE(contains(text, "cpu.toy.affine leaves out 2 of the 4 cases")) << text;
}

TEST(ReportPage, ABenchDrawsRooflineAndSamples) {
  const std::string html = to_html(sample_bench_report());
  EXPECT_TRUE(contains(html, "copy 20.0 GB/s"));
  EXPECT_TRUE(contains(html, "arithmetic intensity"));
  EXPECT_TRUE(contains(html, "samples in order"));
}

TEST_F(Folder, AReportFromAFileLooksAsWhenItWasMade) {
  const std::string json = file("r.json"), html = file("r.html");
  write_report(sample_report(), json);
  EXPECT_EQ(convert_report(json, ""), to_markdown(sample_report()));
  convert_report(json, html);
  EXPECT_EQ(read_whole(html), to_html(sample_report()));
  write_report(sample_bench_report(), json);
  EXPECT_EQ(convert_report(json, file("b.md")), to_markdown(sample_bench_report()));
  EXPECT_EQ(convert_report(json, file("again.json")), read_whole(json));
}

TEST_F(Folder, WhatIsNoReportIsRefused) {
  const auto refuse = [&](const std::string& text, std::initializer_list<std::string_view> words) {
    write_whole(text, file("bad.json"));
    test::expect_error(Code::kInvalidArgument, words,
                       [&] { convert_report(file("bad.json"), ""); });
  };
  refuse("{", {"bad.json", "no report"});
  refuse("[]", {"no report"});
  refuse(R"({"schema": "kw.report/2", "kind": "bench"})", {"kw.report/2", "kw.report/1"});
  refuse(R"({"schema": "kw.report/1", "kind": "benhc"})", {"benhc", "bench", "numerics"});
  refuse(R"({"schema": "kw.report/1", "kind": "numerics"})", {"damaged", "cases"});
  test::expect_error(Code::kNotFound, {"missing.json"},
                     [&] { convert_report(file("missing.json"), ""); });
}

TEST_F(Folder, AComparisonShowsItsVerdicts) {
  CompareReport report;
  report.header = sample_bench_report().header;
  report.header.kind = "compare";
  report.a = "cpu.one.affine";
  report.b = "cpu.two.affine";
  report.interleaved = false;
  ComparisonRow row;
  row.problem = "affine/one x=f32[4,8]";
  row.protocol = "wall_cold";
  row.a_ns = 1000;
  row.b_ns = 1500;
  row.result.verdict = Verdict::kSlower;
  row.result.ratio = 0.667;
  row.result.delta = 0.01;
  report.rows.push_back(row);
  row.status = CaseStatus::kFailed;
  row.reason = Reason::kOobWrite;
  row.message = "written outside";
  report.rows.push_back(row);
  write_report(report, file("c.json"));
  const std::string text = convert_report(file("c.json"), "");
  EXPECT_TRUE(contains(text, "A is cpu.one.affine, B is cpu.two.affine")) << text;
  EXPECT_TRUE(contains(text, "| SLOWER | 0.667 |")) << text;
  EXPECT_TRUE(contains(text, "| 1.00 us | 1.50 us | wall_cold | affine/one x=f32[4,8] |")) << text;
  EXPECT_TRUE(contains(text, "oob_write")) << text;
  write_report(report, file("c.html"));
  EXPECT_TRUE(contains(read_whole(file("c.html")), "SLOWER"));
}

}  // namespace
}  // namespace kw::suite
