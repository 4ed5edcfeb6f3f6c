// SPDX-License-Identifier: Apache-2.0
// main() of the device tests: exit code 77 says that no case ran and at least one was skipped.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  const auto& run = *testing::UnitTest::GetInstance();
  const bool only_skips = run.successful_test_count() == 0 && run.skipped_test_count() > 0;
  return result == 0 && only_skips ? 77 : result;
}
