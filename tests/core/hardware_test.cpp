// SPDX-License-Identifier: Apache-2.0
// Vocabulary of hardware, and Status.
#include "kernelwright/core/hardware.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "kernelwright/core/status.hpp"
#include "support/expect_error.hpp"

namespace kw {
namespace {

using test::expect_error;

TEST(Hardware, NamesReadBack) {
  for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kCuda, DeviceKind::kNpu}) {
    EXPECT_EQ(parse_device_kind(device_kind_name(kind)), kind);
  }
  for (const Mode mode : {Mode::kEager, Mode::kGraph}) {
    EXPECT_EQ(parse_mode(mode_name(mode)), mode);
  }
}

TEST(Hardware, UnknownNamesListWhatExists) {
  expect_error(Code::kNotFound, {"unknown kind of device 'gpu'", "known: cpu, cuda, npu"},
               [] { parse_device_kind("gpu"); });
  expect_error(Code::kNotFound, {"unknown mode 'graphs'", "known: eager, graph"},
               [] { parse_mode("graphs"); });
}

TEST(Hardware, CapabilityInTheWordsOfItsDevice) {
  EXPECT_EQ(capability_text(DeviceKind::kCuda, 90), "sm_90");
  EXPECT_EQ(capability_text(DeviceKind::kCuda, 120), "sm_120");
  EXPECT_EQ(capability_text(DeviceKind::kCpu, 1), "1 (baseline)");
  EXPECT_EQ(capability_text(DeviceKind::kCpu, 2), "2 (avx2)");
  EXPECT_EQ(capability_text(DeviceKind::kCpu, 3), "3 (avx512)");
  EXPECT_EQ(capability_text(DeviceKind::kCpu, 4), "4");
  EXPECT_EQ(capability_text(DeviceKind::kNpu, 2), "2");
}

TEST(Status, OkIsTrueAndThrowsNothing) {
  const Status status;
  EXPECT_TRUE(status);
  EXPECT_NO_THROW(throw_if_failed(status));
}

TEST(Status, FailureCarriesItsMessageAndCode) {
  const struct {
    StatusCode status;
    Code code;
  } cases[] = {
      {StatusCode::kInvalidArgument, Code::kInvalidArgument},
      {StatusCode::kUnsupported, Code::kUnsupported},
      {StatusCode::kNotPrepared, Code::kConflict},
      {StatusCode::kUnbound, Code::kConflict},
      {StatusCode::kDevice, Code::kEnvironment},
      {StatusCode::kInternal, Code::kInternal},
  };
  for (const auto& [status, code] : cases) {
    const Status result = failed(status, "what happened");
    EXPECT_FALSE(result);
    EXPECT_EQ(result.code, status);
    EXPECT_EQ(last_message(), "what happened");
    expect_error(code, {"what happened"}, [&] { throw_if_failed(result); });
  }
}

TEST(Status, MessagesArePerThread) {
  static_cast<void>(failed(StatusCode::kDevice, "mine"));
  std::string other = "unset";
  std::thread([&] { other = last_message(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_EQ(last_message(), "mine");
}

}  // namespace
}  // namespace kw
