// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/tune/pick.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

namespace kw::tune {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// Of those that `counts`.
template <typename Counts>
double fastest(const std::vector<Contestant>& bucket, const Counts& counts) {
  double cost = kNone;
  for (const Contestant& contestant : bucket) {
    if (counts(contestant)) cost = std::min(cost, contestant.cost);
  }
  return cost;
}

double fastest(const std::vector<Contestant>& bucket) {
  return fastest(bucket, [](const Contestant&) { return true; });
}

// The formula's geometry everywhere, if it is within the band everywhere.
std::optional<std::vector<std::size_t>> pick_formula(const Buckets& buckets) {
  std::vector<std::size_t> picks;
  std::string tree;
  for (const auto& bucket : buckets) {
    const auto formula =
        std::find_if(bucket.begin(), bucket.end(), [](const Contestant& c) { return c.formula; });
    if (formula == bucket.end() || formula->cost > (1 + kBand) * fastest(bucket))
      return std::nullopt;
    if (!picks.empty() && formula->tree != tree) return std::nullopt;
    tree = formula->tree;
    picks.push_back(static_cast<std::size_t>(formula - bucket.begin()));
  }
  return picks;
}

std::size_t pick_of_tree(const std::vector<Contestant>& bucket, const std::string& tree) {
  const double own = fastest(bucket, [&](const Contestant& c) { return c.tree == tree; });
  const double limit = std::max((1 + kBand) * fastest(bucket), own);
  std::size_t best = bucket.size();
  const auto order = [](const Contestant& c) {
    return std::make_tuple(!c.formula, c.size, c.cost, c.id);
  };
  for (std::size_t i = 0; i < bucket.size(); ++i) {
    if (bucket[i].tree != tree || bucket[i].cost > limit) continue;
    if (best == bucket.size() || order(bucket[i]) < order(bucket[best])) best = i;
  }
  return best;
}

}  // namespace

std::vector<TreeCost> rank_trees(const Buckets& buckets) {
  std::map<std::string, std::pair<int, double>> found;  // buckets that have it, sum of logarithms
  for (const auto& bucket : buckets) {
    const double best = fastest(bucket);
    std::map<std::string, double> own;
    for (const Contestant& contestant : bucket) {
      const auto entry = own.emplace(contestant.tree, kNone).first;
      entry->second = std::min(entry->second, contestant.cost);
    }
    for (const auto& [tree, cost] : own) {
      ++found[tree].first;
      found[tree].second += std::log(cost / best);
    }
  }
  std::vector<TreeCost> trees;
  for (const auto& [tree, sum] : found) {
    if (sum.first == static_cast<int>(buckets.size()))
      trees.push_back({tree, std::exp(sum.second / sum.first)});
  }
  std::stable_sort(trees.begin(), trees.end(),
                   [](const TreeCost& a, const TreeCost& b) { return a.cost < b.cost; });
  return trees;
}

std::vector<std::size_t> pick(const Buckets& buckets) {
  if (const auto formula = pick_formula(buckets)) return *formula;
  const std::vector<TreeCost> trees = rank_trees(buckets);
  std::vector<std::size_t> chosen;
  std::tuple<bool, std::vector<GeometrySize>> chosen_order;
  for (const TreeCost& tree : trees) {
    if (tree.cost > (1 + kBand) * trees.front().cost) break;
    std::vector<std::size_t> picks;
    std::vector<GeometrySize> sizes;
    bool formula = false;
    for (const auto& bucket : buckets) {
      picks.push_back(pick_of_tree(bucket, tree.tree));
      sizes.insert(sizes.begin(), bucket[picks.back()].size);  // the largest bucket decides first
      formula = formula || std::any_of(bucket.begin(), bucket.end(), [&](const Contestant& c) {
                  return c.formula && c.tree == tree.tree;
                });
    }
    const auto order = std::make_tuple(!formula, std::move(sizes));
    if (!chosen.empty() && !(order < chosen_order)) continue;
    chosen = std::move(picks);
    chosen_order = order;
  }
  return chosen;
}

}  // namespace kw::tune
