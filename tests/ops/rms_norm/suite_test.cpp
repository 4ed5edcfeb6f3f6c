// SPDX-License-Identifier: Apache-2.0
// The batches hold what others are held by.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernelwright/ops/catalog.hpp"

namespace kw::ops::rms_norm {
namespace {

// The default matrix of the published suite: two types, four numbers of rows, three widths.
TEST(Suite, CiHoldsTheTwentyFourPoints) {
  const auto& suites = builtin_suites();
  const auto suite = std::find_if(suites.begin(), suites.end(), [](const suite::SuiteSpec& spec) {
    return spec.operation == "rms_norm";
  });
  ASSERT_NE(suite, suites.end());
  const Catalog& catalog = builtin_catalog();
  std::set<std::string> problems;
  for (const Problem& problem : suite::parse_problems(suite::batch_lines(*suite, "ci"),
                                                      *catalog.find_contract("rms_norm"), catalog))
    problems.insert(problem_text(problem));
  int found = 0;
  for (const char* dtype : {"bf16", "f16"}) {
    for (const int rows : {1, 16, 128, 4096}) {
      for (const int width : {512, 2048, 6144})
        found += static_cast<int>(problems.count(
            fmt::format("rms_norm/standard x={0}[{1},{2}] weight={0}[{2}]", dtype, rows, width)));
    }
  }
  EXPECT_EQ(found, 24);
}

}  // namespace
}  // namespace kw::ops::rms_norm
