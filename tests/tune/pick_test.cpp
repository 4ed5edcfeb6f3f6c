// SPDX-License-Identifier: Apache-2.0
// Which measured geometry is taken: the band, the formula, the smaller one, one tree for all.
#include "kernelwright/tune/pick.hpp"

#include <gtest/gtest.h>

namespace kw::tune {
namespace {

Contestant contestant(std::string id, std::string tree, int threads, double cost,
                      bool formula = false) {
  return {std::move(id), std::move(tree), {threads, 0, 0, 1}, formula, cost};
}

std::vector<std::string> picked(const Buckets& buckets) {
  std::vector<std::string> ids;
  const std::vector<std::size_t> picks = pick(buckets);
  for (std::size_t i = 0; i < picks.size(); ++i) ids.push_back(buckets[i][picks[i]].id);
  return ids;
}

using Ids = std::vector<std::string>;

TEST(Pick, TheSmallestWithinThreePerCentOfTheFastest) {
  EXPECT_EQ(
      picked({{contestant("fast", "a", 512, 100), contestant("small", "a", 128, 102.9),
               contestant("smaller", "a", 64, 103.1), contestant("formula", "a", 32, 120, true)}}),
      Ids{"small"});
}

TEST(Pick, TheFormulaWinsWithinTheBandEvenWhereLarger) {
  const Buckets buckets{{contestant("fast", "a", 64, 100), contestant("f", "b", 512, 102.9, true)}};
  EXPECT_EQ(picked(buckets), Ids{"f"});
}

TEST(Pick, SizeIsThreadsThenSharedMemoryThenRegistersThenUnroll) {
  const auto sized = [](std::string id, GeometrySize size) {
    return Contestant{std::move(id), "a", size, false, 100};
  };
  EXPECT_EQ(picked({{sized("a", {64, 0, 9, 9}), sized("b", {32, 9, 9, 9})}}), Ids{"b"});
  EXPECT_EQ(picked({{sized("a", {64, 1, 0, 0}), sized("b", {64, 0, 9, 9})}}), Ids{"b"});
  EXPECT_EQ(picked({{sized("a", {64, 0, 4, 2}), sized("b", {64, 0, 4, 1})}}), Ids{"b"});
}

// Each bucket alone would take another tree.
TEST(Pick, OneTreeForAllBuckets) {
  EXPECT_EQ(picked({{contestant("a1", "a", 64, 100), contestant("b1", "b", 64, 110)},
                    {contestant("a2", "a", 64, 130), contestant("b2", "b", 64, 100)}}),
            (Ids{"b1", "b2"}));
}

TEST(Pick, TheFormulasTreeWinsWithinTheBand) {
  EXPECT_EQ(picked({{contestant("a", "a", 32, 100), contestant("b", "b", 64, 102),
                     contestant("f", "b", 64, 120, true)}}),
            Ids{"b"});
}

TEST(Pick, ATreeThatIsMissingInABucketIsOut) {
  EXPECT_EQ(picked({{contestant("a1", "a", 64, 100)},
                    {contestant("a2", "a", 64, 200), contestant("b2", "b", 64, 100)}}),
            (Ids{"a1", "a2"}));
  EXPECT_TRUE(pick({{contestant("a1", "a", 64, 100)}, {contestant("b2", "b", 64, 100)}}).empty());
}

TEST(Pick, TreesAreRankedByTheirMeanLossOverTheBuckets) {
  const auto trees = rank_trees({{contestant("a1", "a", 64, 100), contestant("b1", "b", 64, 121)},
                                 {contestant("a2", "a", 64, 50), contestant("b2", "b", 64, 50)}});
  ASSERT_EQ(trees.size(), 2U);
  EXPECT_EQ(trees[0].tree, "a");
  EXPECT_DOUBLE_EQ(trees[0].cost, 1);
  EXPECT_NEAR(trees[1].cost, 1.1, 1e-12);
}

}  // namespace
}  // namespace kw::tune
