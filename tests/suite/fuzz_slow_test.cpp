// SPDX-License-Identifier: Apache-2.0
// Hundreds of drawn cases: the right survive, the wrong do not.
#include <algorithm>

#include <gtest/gtest.h>

#include "suite/support/probe_world.hpp"

namespace kw::suite {
namespace {

TEST(Fuzz, ARightImplementationSurvives) {
  test::ProbeWorld world;
  NumericsRequest request = test::toy_request();
  request.fuzz = 150;
  request.seed = 11;
  const NumericsReport report = run_numerics(request, world.platform);
  EXPECT_EQ(report.counts().passed + report.counts().mistrusted, 150);
  for (const CaseResult& result : report.cases) {
    EXPECT_TRUE(result.status == CaseStatus::kPassed || result.status == CaseStatus::kMistrusted)
        << result.repro << "\n"
        << result.message;
  }
  EXPECT_LT(report.counts().mistrusted, 10);
}

TEST(Fuzz, FindsAPlantedBugAndPrintsHowToRunItAgain) {
  test::ProbeWorld world(Sabotage::kWrongOddWidth);
  NumericsRequest request = test::toy_request();
  request.fuzz = 60;
  const NumericsReport report = run_numerics(request, world.platform);
  ASSERT_GT(report.counts().failed, 0);
  const auto failed =
      std::find_if(report.cases.begin(), report.cases.end(),
                   [](const CaseResult& r) { return r.status == CaseStatus::kFailed; });
  NumericsRequest again = test::toy_request();
  again.problems = {failed->problem};
  again.fills = {std::string(fill_name(failed->fill))};
  again.seed = failed->seed;
  const NumericsReport repeated = run_numerics(again, world.platform);
  ASSERT_EQ(repeated.cases.size(), 1U);
  EXPECT_EQ(repeated.cases[0].id, failed->id);
  EXPECT_EQ(repeated.cases[0].reason, failed->reason);
}

}  // namespace
}  // namespace kw::suite
