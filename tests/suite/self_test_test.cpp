// SPDX-License-Identifier: Apache-2.0
// Every saboteur is found by a check that is about it, and the same cases without one pass.
#include "kernelwright/suite/selftest/self_test.hpp"

#include <set>

#include <gtest/gtest.h>

#include "kernelwright/base/text.hpp"
#include "kernelwright/suite/checks/page_guard.hpp"
#include "support/expect_error.hpp"

namespace kw::suite {
namespace {

TEST(SelfTest, KillsEverySaboteurAndNothingElse) {
  const SelfTestReport report = run_self_test();
  for (const SelfTestRow* row : report.survivors()) {
    ADD_FAILURE() << row->saboteur->name << " lives: " << status_name(row->result.status) << ' '
                  << reason_name(row->result.reason) << ' ' << row->result.message;
  }
  for (const SelfTestRow* row : report.false_alarms())
    ADD_FAILURE() << row->saboteur->problem << " without a defect: " << row->control.message;
  EXPECT_TRUE(report.passed());
  EXPECT_GE(report.killed(), has_page_guards() ? 66 : 62);
  EXPECT_EQ(report.killed() + report.skipped(), static_cast<int>(report.rows.size()));
  EXPECT_EQ(report.skipped() > 0, !has_page_guards());
}

TEST(SelfTest, NamesAreOnce) {
  std::set<std::string_view> names;
  for (const Saboteur& saboteur : saboteurs()) {
    EXPECT_TRUE(names.insert(saboteur.name).second) << saboteur.name;
    EXPECT_FALSE(saboteur.codes.empty());
  }
}

TEST(SelfTest, OneByName) {
  const SelfTestReport report = run_self_test("side_stream");
  ASSERT_EQ(report.rows.size(), 1U);
  EXPECT_EQ(report.rows.front().result.reason, Reason::kWrongStream);
  test::expect_error(Code::kNotFound, {"side_stream"}, [] { run_self_test("side_steam"); });
}

}  // namespace
}  // namespace kw::suite
