// SPDX-License-Identifier: Apache-2.0
// The schema that is shipped holds the lists of the code, and refuses what is no report.
#include <functional>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "suite/support/sample_report.hpp"
#include "support/report_schema.hpp"

namespace kw::suite {
namespace {

using Json = nlohmann::json;

std::set<std::string> names_of(const Json& list) { return list.get<std::set<std::string>>(); }

TEST(ReportSchema, HoldsEveryReasonCodeAndStatus) {
  const Json definitions = Json::parse(test::report_schema())["$defs"];
  std::set<std::string> reasons, statuses;
  for (std::size_t i = 0; i < kNumReasons; ++i) {
    const auto reason = static_cast<Reason>(i);
    if (reason != Reason::kNone) reasons.emplace(reason_name(reason));
  }
  for (std::size_t i = 0; i < kNumStatuses; ++i)
    statuses.emplace(status_name(static_cast<CaseStatus>(i)));
  EXPECT_EQ(names_of(definitions["reason_code"]["enum"]), reasons);
  EXPECT_EQ(names_of(definitions["status"]["enum"]), statuses);
  for (const std::string& status : statuses)
    EXPECT_TRUE(definitions["summary"]["properties"].contains(status)) << status;
}

TEST(ReportSchema, AcceptsReportsOfBothKinds) {
  EXPECT_EQ(test::schema_problems(to_json(test::sample_report())), "");
  EXPECT_EQ(test::schema_problems(to_json(test::sample_bench_report())), "");
}

struct Damage {
  const char* what;
  const char* place;  // that the finding names
  std::function<void(Json&)> apply;
};

TEST(ReportSchema, RefusesWhatIsNoReport) {
  const std::vector<Damage> damages{
      {"another schema", "schema", [](Json& r) { r["schema"] = "kw.report/2"; }},
      {"another kind", "kind", [](Json& r) { r["kind"] = "guess"; }},
      {"a field of nobody's", "top", [](Json& r) { r["verdict"] = "fine"; }},
      {"no summary", "top", [](Json& r) { r.erase("summary"); }},
      {"metadata that are no text", "metadata/job", [](Json& r) { r["metadata"]["job"] = 17; }},
      {"an unknown status", "cases/0/status", [](Json& r) { r["cases"][0]["status"] = "fine"; }},
      {"an unknown code", "cases/1/reason/code",
       [](Json& r) { r["cases"][1]["reason"]["code"] = "bad_luck"; }},
      {"an unknown code that is counted", "summary/by_reason",
       [](Json& r) { r["summary"]["by_reason"]["bad_luck"] = 1; }},
      {"a failure without a reason", "cases/1", [](Json& r) { r["cases"][1].erase("reason"); }},
      {"a pass with a reason", "cases/0",
       [](Json& r) { r["cases"][0]["reason"] = r["cases"][1]["reason"]; }},
      {"a case without a way to run it again", "cases/0",
       [](Json& r) { r["cases"][0].erase("repro"); }},
      {"a histogram with a bin too few", "cases/0/numerics/0/ulp_histogram",
       [](Json& r) { r["cases"][0]["numerics"][0]["ulp_histogram"] = {1, 2, 3, 4, 5, 6, 7}; }},
      {"a failed check without a reason", "cases/1/checks/0",
       [](Json& r) { r["cases"][1]["checks"][0].erase("reason"); }},
      {"no coverage", "top", [](Json& r) { r.erase("coverage"); }},
  };
  const Json good = Json::parse(to_json(test::sample_report()));
  for (const Damage& damage : damages) {
    Json bad = good;
    damage.apply(bad);
    EXPECT_NE(test::schema_problems(bad.dump()).find(std::string(": ") + damage.place + ": "),
              std::string::npos)
        << damage.what << ": " << test::schema_problems(bad.dump());
  }
}

TEST(ReportSchema, OnlyWhatPassedMayBeTimed) {
  Json report = Json::parse(to_json(test::sample_bench_report()));
  report["cases"][0]["status"] = "failed";
  report["cases"][0]["reason"] = {{"code", "oob_write"}, {"message", ""}};
  EXPECT_NE(test::schema_problems(report.dump()).find("cases/0/benchmark"), std::string::npos);
}

}  // namespace
}  // namespace kw::suite
