// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/kit/cpu/cache.hpp"

#include <gtest/gtest.h>

namespace kw::kit::cpu {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

TEST(Cache, IsWholeWhereItBelongsToItsProcessors) {
  EXPECT_EQ(share_of_cache(36 * kMiB, 16), 36 * kMiB);
  EXPECT_EQ(share_of_cache(96 * kMiB, 8), 96 * kMiB);
}

TEST(Cache, OfASocketIsNotCountedOnByTwoOfItsProcessors) {
  EXPECT_EQ(share_of_cache(300 * kMiB, 2), 32 * kMiB);
  EXPECT_EQ(share_of_cache(300 * kMiB, 1), 16 * kMiB);
}

TEST(Cache, UnknownOnesHaveAUsualSize) {
  EXPECT_EQ(share_of_cache(0, 8), 32 * kMiB);
  EXPECT_EQ(share_of_cache(-1, 0), 16 * kMiB);
  EXPECT_GT(cache_share_bytes(), kMiB);
}

}  // namespace
}  // namespace kw::kit::cpu
