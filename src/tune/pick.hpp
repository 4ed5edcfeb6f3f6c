// SPDX-License-Identifier: Apache-2.0
// From measured candidates to the geometry of every bucket. Pure.
//   - One tree for all buckets of the same facts: the order of summation may not follow the rows.
//   - Within kBand of the fastest the difference is policy, not measurement: the formula's
//     geometry wins there, else the formula's tree, else the smaller geometry.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernelwright/tune/search.hpp"

namespace kw::tune {

inline constexpr double kBand = 0.03;

// A geometry in one bucket.
struct Contestant {
  std::string id;    // of the geometry, the same in every bucket
  std::string tree;  // id of its tree
  GeometrySize size;
  bool formula = false;  // what the formula gives in this bucket
  double cost = 0;       // time of a call; only ratios within the bucket count
};
using Buckets = std::vector<std::vector<Contestant>>;

// Trees with a contestant in every bucket, and the mean over the buckets of how much slower than
// the bucket's fastest their best is (1: nowhere); fastest first.
struct TreeCost {
  std::string tree;
  double cost = 1;
};
std::vector<TreeCost> rank_trees(const Buckets& buckets);

// Index of the chosen contestant of each bucket, all of one tree; empty when no tree has one in
// every bucket.
std::vector<std::size_t> pick(const Buckets& buckets);

}  // namespace kw::tune
