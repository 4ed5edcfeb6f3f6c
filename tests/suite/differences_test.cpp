// SPDX-License-Identifier: Apache-2.0
// Finite differences of a forward's reference against the reference of its backward.
#include "kernelwright/suite/checks/differences.hpp"

#include <gtest/gtest.h>

#include "kernelwright/suite/selftest/probe.hpp"
#include "kernelwright/suite/selftest/probe_kernels.hpp"
#include "support/expect_error.hpp"

namespace kw::suite {
namespace {

TEST(Differences, AgreeWithARightBackward) {
  Catalog catalog;
  add_probes(catalog);
  const Problem problem = parse_problem(
      "affine_backward/one dy=bf16[3,8] x=bf16[3,8] gain=bf16[8] total=f32[8]", catalog);
  const auto checks = check_gradients(problem, catalog, 1);
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_EQ(checks[0].input, "x");
  EXPECT_EQ(checks[1].gradient, "dgain");
  for (const GradientCheck& check : checks) {
    EXPECT_TRUE(check.passed()) << check.gradient;
    EXPECT_NE(check.derivative, 0);
    GradientCheck other = check;
    other.derivative *= 1 + 1e-5;
    other.derivative += 1e-5;
    EXPECT_FALSE(other.passed());
  }
}

// An oracle with a wrong sign or a missing term is no derivative, whatever implementations say.
TEST(Differences, SeeAWrongOracle) {
  for (const Sabotage sabotage : {Sabotage::kNegatedGradient, Sabotage::kWrongGradient}) {
    Catalog catalog;
    catalog.add({&AffineArgs::contract(),
                 {make_probe<AffineArgs>(kit::ProbeOperation::kAffine, true, Sabotage::kNone,
                                         DeviceKind::kCpu, {})}});
    catalog.add({&AffineBackwardArgs::contract(),
                 {make_probe<AffineBackwardArgs>(kit::ProbeOperation::kAffineBackward, true,
                                                 sabotage, DeviceKind::kCpu, {})}});
    const Problem problem = parse_problem(
        "affine_backward/one dy=f32[3,8] x=f32[3,8] gain=f32[8] total=f32[8]", catalog);
    int wrong = 0;
    for (const GradientCheck& check : check_gradients(problem, catalog, 1))
      wrong += check.passed() ? 0 : 1;
    EXPECT_EQ(wrong, 1);
  }
}

TEST(Differences, NeedAPair) {
  Catalog catalog;
  add_probes(catalog);
  test::expect_error(Code::kInvalidArgument, {"affine", "backward of no operation"}, [&] {
    check_gradients(parse_problem("affine/one x=f32[2,8] gain=f32[8]", catalog), catalog, 1);
  });
}

}  // namespace
}  // namespace kw::suite
