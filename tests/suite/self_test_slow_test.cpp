// SPDX-License-Identifier: Apache-2.0
// Every saboteur is found by a check that is about it, and the same cases without one pass.
#include "kernelwright/suite/selftest/self_test.hpp"

#include <gtest/gtest.h>

#include "kernelwright/suite/checks/page_guard.hpp"

namespace kw::suite {
namespace {

TEST(SelfTest, KillsEverySaboteurAndNothingElse) {
  const SelfTestReport report = run_self_test();
  for (const SelfTestRow* row : report.survivors()) {
    ADD_FAILURE() << row->saboteur->name() << " lives: " << status_name(row->result.status) << ' '
                  << reason_name(row->result.reason) << ' ' << row->result.message;
  }
  for (const SelfTestRow* row : report.false_alarms())
    ADD_FAILURE() << row->saboteur->problem << " without a defect: " << row->control.message;
  EXPECT_TRUE(report.passed());
  EXPECT_GE(report.killed(), has_page_guards() ? 73 : 69);
  EXPECT_EQ(report.killed() + report.skipped(), static_cast<int>(report.rows.size()));
  EXPECT_EQ(report.skipped() > 0, !has_page_guards());
}

}  // namespace
}  // namespace kw::suite
