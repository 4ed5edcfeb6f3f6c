// SPDX-License-Identifier: Apache-2.0
// The catalogue of saboteurs, one of them by name, and those whose kernels a device compiles.
#include "kernelwright/suite/selftest/self_test.hpp"

#include <set>

#include <gtest/gtest.h>

#include "jit/support/fake_toolchain.hpp"
#include "kernelwright/base/text.hpp"
#include "support/expect_error.hpp"

namespace kw::suite {
namespace {

TEST(SelfTest, EveryDefectIsPlantedOnceAndUnderANameOfItsOwn) {
  std::set<Sabotage> planted;
  std::set<std::string_view> names;
  for (const Saboteur& saboteur : saboteurs()) {
    EXPECT_TRUE(planted.insert(saboteur.sabotage).second) << saboteur.name();
    EXPECT_TRUE(names.insert(saboteur.name()).second) << saboteur.name();
    EXPECT_FALSE(saboteur.codes.empty());
    EXPECT_FALSE(saboteur.asynchronous && kit::is_in_kernel(saboteur.sabotage)) << saboteur.name();
  }
  EXPECT_EQ(planted.size(), std::size(kit::kSabotageNames) - 1);   // kNone
  EXPECT_EQ(saboteurs().back().sabotage, Sabotage::kFirstDevice);  // nothing may run after it
}

TEST(SelfTest, OneByName) {
  const SelfTestReport report = run_self_test("side_stream");
  ASSERT_EQ(report.rows.size(), 1U);
  EXPECT_EQ(report.rows.front().result.reason, Reason::kWrongStream);
  test::expect_error(Code::kNotFound, {"side_stream"}, [] { run_self_test("side_steam"); });
}

// A device that compiles, in which every kernel of the catalogue is host code under its entry.
class SelfTestOnADevice : public testing::Test {
 protected:
  SelfTestOnADevice() {
    for (const Saboteur& saboteur : saboteurs()) {
      for (const auto type : {kit::FillType::kF32, kit::FillType::kF16, kit::FillType::kBF16}) {
        for (const auto operation :
             {kit::ProbeOperation::kAffine, kit::ProbeOperation::kAffineBackward,
              kit::ProbeOperation::kGather, kit::ProbeOperation::kUpdate}) {
          for (const bool two : {false, true}) {
            define({operation, type, two, false, Sabotage::kNone});
            define({operation, type, two, false, saboteur.sabotage});
          }
        }
      }
    }
  }
  void define(const kit::ProbeCfg& cfg) {
    device_.define_kernel(probe_unit(cfg, "fake").entry,
                          [this, cfg](const runtime::LaunchShape& shape, const void* args) {
                            EXPECT_EQ(shape.grid.x, 1U);
                            ++launches_;
                            run_probe_on_host(cfg, *static_cast<const kit::ProbeArgs*>(args));
                          });
  }
  SelfTestRow run(const std::string& name) {
    const SelfTestReport report = run_self_test(name, {}, &real_);
    EXPECT_EQ(report.rows.size(), 1U);
    return report.rows.front();
  }

  test::FakeDevice device_;
  test::FakeToolchain toolchain_;
  jit::Session session_{jit::SessionOptions{}};
  SelfTestDevice real_{device_, nullptr, {&toolchain_, "fake", &session_}};
  int launches_ = 0;
};

TEST_F(SelfTestOnADevice, LaunchesItsKernels) {
  for (const char* name : {"extra_rounding", "negated_gradient", "clamps_index", "updates_twice",
                           "memo_by_pointer", "fail_launch"}) {
    launches_ = 0;
    const SelfTestRow row = run(name);
    EXPECT_TRUE(row.killed) << name << ": " << row.result.message;
    EXPECT_EQ(row.control.status, CaseStatus::kPassed) << name << ": " << row.control.message;
    EXPECT_EQ(row.skipped, "");
    EXPECT_GT(launches_, 10) << name;
  }
  EXPECT_GT(toolchain_.compiles, 6);
}

TEST_F(SelfTestOnADevice, SaysWhyItLeavesOut) {
  EXPECT_NE(run("wrong_device").skipped.find("second device"), std::string::npos);
  EXPECT_NE(run("int32_offset").skipped.find("memory there"), std::string::npos);
  EXPECT_NE(run("oob_read_after").skipped.find("page guards"), std::string::npos);
  EXPECT_EQ(launches_, 0);
}

}  // namespace
}  // namespace kw::suite
