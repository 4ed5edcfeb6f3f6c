// SPDX-License-Identifier: Apache-2.0
// kw tune as a user meets it without a GPU: requests that are refused before a device is opened or
// anything is measured. The search itself is tests/tune.
#include <gtest/gtest.h>

#include "cli/support/run_kw.hpp"

namespace kw::test {
namespace {

void expect_refused(const std::vector<std::string>& arguments, const std::string& words) {
  const Finished finished = run_kw(arguments);
  EXPECT_EQ(finished.code, 2) << finished.err;
  EXPECT_NE(finished.err.find(words), std::string::npos) << finished.err;
  EXPECT_EQ(finished.out, "");
}

TEST(KwTune, RefusesRequestsItCannotMeet) {
  expect_refused({"tune"}, "kw tune needs --operation, --implementation or --problem");
  expect_refused({"tune", "rms_norm/standard"}, "takes the name of an operation");
  expect_refused({"tune", "rms_nrm"}, "did you mean 'rms_norm'");
  expect_refused({"tune", "rms_norm", "--output", "table.md"}, "a tuning table is .json");
  expect_refused({"tune", "rms_norm", "--max-seconds", "0"}, "--max-seconds");
  // On the CPU nothing of it has a search space.
  expect_refused({"tune", "--operation", "rms_norm"}, "cuda.jit.rms_norm_backward");
}

TEST(KwTune, AnOutputThatIsNoTableIsLeftAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.write("table.json", R"({"schema": "kw.tuning/1", "entry": []})");
  expect_refused({"tune", "rms_norm", "--output", path}, "unknown member 'entry'");
  EXPECT_EQ(TemporaryFolder::read(path), R"({"schema": "kw.tuning/1", "entry": []})");
}

}  // namespace
}  // namespace kw::test
