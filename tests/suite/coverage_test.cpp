// SPDX-License-Identifier: Apache-2.0
// What counts against a target that leaves cases out, and what does not.
#include "kernelwright/suite/coverage.hpp"

#include <gtest/gtest.h>

#include "kernelwright/suite/run.hpp"
#include "kernelwright/suite/selftest/probe.hpp"
#include "suite/support/host_device.hpp"

namespace kw::suite {
namespace {

// The toy implementation excludes f64: half of this batch.
const std::vector<SuiteSpec>& half_excluded() {
  static const std::vector<SuiteSpec> all{
      {"affine",
       {{"smoke",
         {"affine/one x={T:f32,f64}[4,8] gain={T}[8]", "affine/two x={T:f32,f64}[4,8] gain={T}[8]",
          "affine/one x=f32[4,8]:[16,1]@4 gain=f32[8]", "affine/one x=f32[0,8] gain=f32[8]"}}}}};
  return all;
}

NumericsReport run(NumericsRequest request, std::vector<std::string> variants = {}) {
  Catalog catalog;
  add_probes(catalog);
  Implementation narrow = probe_affine(Sabotage::kNone);
  narrow.info.name = "cpu.narrow.affine";
  narrow.info.solution = "narrow";
  narrow.info.variants = std::move(variants);
  catalog.register_implementation("affine", narrow);
  test::HostDevice device;
  request.implementation = "cpu.narrow.affine";
  request.fills = {"normal"};
  return run_numerics(request, {catalog, device, half_excluded(), {}});
}

int cases(const Coverage& coverage, std::string_view axis, std::string_view value) {
  for (const Axis& each : coverage.axes) {
    if (each.name != axis) continue;
    for (const auto& [name, number] : each.values) {
      if (name == value) return number;
    }
  }
  return -1;
}

TEST(Coverage, TooMuchOutsideTheDomainEndsWithThree) {
  const NumericsReport report = run({});
  ASSERT_EQ(report.coverage.size(), 1U);
  const Coverage& coverage = report.coverage[0];
  EXPECT_EQ(coverage.cases, 6);
  EXPECT_EQ(coverage.domain_excluded, 2);
  EXPECT_TRUE(coverage.exceeds_limit());
  EXPECT_EQ(report.counts().exit_code(), 0);
  EXPECT_EQ(report.exit_code(), 3);
  EXPECT_NE(coverage.limit_message().find("2 of the 6 cases whose variant it implements (33 %; 25 "
                                          "% are allowed): domain_excluded 2"),
            std::string::npos)
      << coverage.limit_message();
}

TEST(Coverage, TheLimitIsTheRequests) {
  NumericsRequest request;
  request.max_domain_excluded = 0.5;
  EXPECT_EQ(run(request).exit_code(), 0);
}

TEST(Coverage, AVariantThatIsNotImplementedDoesNotCount) {
  const Coverage coverage = run({}, {"two"}).coverage[0];
  EXPECT_EQ(coverage.unclaimed, 4);
  EXPECT_EQ(coverage.domain_excluded, 1);
  EXPECT_DOUBLE_EQ(coverage.excluded_share(), 0.5);  // of the two cases of variant two
  EXPECT_EQ(cases(coverage, "variant", "two"), 1);
  EXPECT_EQ(cases(coverage, "variant", "one"), -1);  // not declared
}

TEST(Coverage, SingleProblemsHaveNoLimit) {
  NumericsRequest request;
  request.problems = {"affine/one x={T:f32,f64}[4,8] gain={T}[8]"};
  const NumericsReport report = run(request);
  EXPECT_DOUBLE_EQ(report.coverage[0].excluded_share(), 0.5);
  EXPECT_EQ(report.exit_code(), 0);
}

TEST(Coverage, CountsTheValuesOfEveryAxis) {
  const Coverage coverage = run({}).coverage[0];
  EXPECT_EQ(cases(coverage, "variant", "one"), 3);
  EXPECT_EQ(cases(coverage, "variant", "two"), 1);
  EXPECT_EQ(cases(coverage, "dtype", "f32"), 4);
  EXPECT_EQ(cases(coverage, "dtype", "f64"), 0);  // asked for, never judged
  EXPECT_EQ(cases(coverage, "fill", "normal"), 4);
  EXPECT_EQ(cases(coverage, "fill", "nan_row"), 0);
  EXPECT_EQ(cases(coverage, "layout", "contiguous"), 3);
  EXPECT_EQ(cases(coverage, "layout", "strided"), 1);
  EXPECT_EQ(cases(coverage, "layout", "misaligned"), 1);
  EXPECT_EQ(cases(coverage, "layout", "stride 0"), 0);
}

// Says no when it is asked for its domain, and yes when a call is prepared.
TEST(Coverage, AnImplementationThatDeclinesAndYetPreparesFails) {
  Catalog catalog;
  add_probes(catalog);
  Implementation fickle = probe_affine(Sabotage::kNone);
  fickle.info.name = "cpu.fickle.affine";
  fickle.info.solution = "fickle";
  static int asked;
  asked = 0;
  fickle.functions.supports = [](void*, const Problem&,
                                 const Hardware&) -> std::optional<Rejection> {
    if (++asked == 1) return Rejection{Rejection::Code::kOther, "not today"};
    return std::nullopt;
  };
  catalog.register_implementation("affine", fickle);
  test::HostDevice device;
  NumericsRequest request;
  request.implementation = "cpu.fickle.affine";
  request.problems = {"affine/one x=f32[4,8] gain=f32[8]"};
  const NumericsReport report = run_numerics(request, {catalog, device, half_excluded(), {}});
  EXPECT_EQ(report.cases[0].reason, Reason::kRejectedValid) << report.cases[0].message;
  EXPECT_NE(report.cases[0].message.find("not today"), std::string::npos);
}

}  // namespace
}  // namespace kw::suite
