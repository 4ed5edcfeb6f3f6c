// SPDX-License-Identifier: Apache-2.0
// The self-test as it runs on a GPU, worker processes for page guards included, on a device in
// software: its faults are signals.
#include "kernelwright/suite/checks/device_pages.hpp"

#include <map>

#include <gtest/gtest.h>

#include "kernelwright/base/error.hpp"
#include "kernelwright/core/problem.hpp"
#include "kernelwright/suite/checks/page_guard.hpp"
#include "kernelwright/suite/selftest/emulated_device.hpp"
#include "kernelwright/suite/selftest/self_test.hpp"

namespace kw::suite {
namespace {

class DevicePagesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_page_guards()) GTEST_SKIP() << "no child may start threads here";
    real_.pages = self_test_pages([] {
      static EmulatedDevice device(DeviceKind::kCuda);  // of a worker
      return SelfTestDevice{device, nullptr, {}};
    });
  }
  EmulatedDevice device_{DeviceKind::kCuda}, second_{DeviceKind::kCuda, 1};
  SelfTestDevice real_{device_, &second_, {}};
};

TEST_F(DevicePagesTest, EverySaboteurIsFoundOnADeviceToo) {
  const SelfTestReport report = run_self_test("", {}, &real_);
  for (const SelfTestRow* row : report.survivors()) {
    ADD_FAILURE() << row->saboteur->name() << " lives: " << status_name(row->result.status) << ' '
                  << reason_name(row->result.reason) << ' ' << row->result.message;
  }
  for (const SelfTestRow* row : report.false_alarms())
    ADD_FAILURE() << row->saboteur->problem << " without a defect: " << row->control.message;
  EXPECT_EQ(report.skipped(), 4);
  EXPECT_EQ(report.killed(), static_cast<int>(report.rows.size()) - 4);
}

TEST_F(DevicePagesTest, SaysWhereAndWhichWay) {
  const std::map<std::string, std::string> expected{
      {"oob_read_before", "reads before x"},
      {"oob_read_after", "reads after the end of x"},
      {"oob_write_before", "writes 1 bytes before y"},
      {"oob_write_after", "writes 0 bytes after the end of y"},
      {"workspace_overflow", "writes 0 bytes after the end of the workspace"}};
  for (const auto& [name, message] : expected) {
    const CaseResult result = run_self_test(name, {}, &real_).rows.front().result;
    ASSERT_FALSE(result.checks.empty()) << name;
    EXPECT_EQ(result.checks.front().name, "pages") << name;
    EXPECT_NE(result.message.find(message), std::string::npos) << name << ": " << result.message;
  }
}

TEST_F(DevicePagesTest, LeavesGigabytesAlone) {
  Catalog catalog;
  add_probes(catalog);
  const auto fits = [&](const char* text) { return can_guard(parse_problem(text, catalog)); };
  EXPECT_TRUE(fits("affine/one x=bf16[16,64]:[80,1] gain=bf16[64]"));
  EXPECT_FALSE(fits("affine/one x=bf16[3,64]:[1073741824,1] gain=bf16[64]"));
}

TEST_F(DevicePagesTest, AWorkerThatCannotAnswerIsAnError) {
  Catalog catalog;
  add_probes(catalog, Sabotage::kNone, DeviceKind::kCuda);
  const Case spec{parse_problem("affine/one x=f32[4,8] gain=f32[8]", catalog)};
  real_.pages->use("none");
  EXPECT_FALSE(real_.pages->check(spec, "cuda.toy.affine", {}).has_value());
  try {
    real_.pages->check(spec, "cuda.toy.other", {});
    FAIL() << "a worker found what is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kEnvironment);
    EXPECT_NE(std::string(error.what()).find("cuda.toy.other"), std::string::npos);
  }
}

}  // namespace
}  // namespace kw::suite
