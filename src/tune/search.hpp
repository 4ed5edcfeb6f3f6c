// SPDX-License-Identifier: Apache-2.0
// What may be tried for one implementation: plain data in src/ops/<operation>/tuning.cpp, and how a
// Cfg of it is described.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "kernelwright/core/problem.hpp"
#include "kernelwright/tune/cfg_parts.hpp"

namespace kw::tune {

// Which of two geometries is smaller: the first member that differs decides. Less of each leaves
// more of the device to others and depends less on what one device happens to have.
struct GeometrySize {
  int threads = 0;       // of a block, times the blocks of a cluster
  int shared_bytes = 0;  // of a block
  int registers = 0;     // 32-bit, of a thread, that hold elements
  int unroll = 1;

  // clang-tidy 14 takes the compiler's own 0 for a pointer. NOLINTNEXTLINE(modernize-use-nullptr)
  auto operator<=>(const GeometrySize&) const = default;
};

// A Cfg, for those who do not know its type.
struct Geometry {
  std::string text;  // identifies the specialization
  CfgParts parts;
  std::string bucket;  // of the problem's dynamic sizes
  GeometrySize size;
};

template <typename Cfg>
Geometry geometry_of(const Cfg& cfg, std::string bucket, const GeometrySize& size) {
  return {jit::cfg_text(cfg), parts_of(cfg), std::move(bucket), size};
}

struct Axis {
  std::string field;
  std::vector<std::string> values;
};

struct SearchSpec {
  std::string implementation;
  // Facts that a table entry names: those on which the best geometry depends. Problems that agree
  // in them are tuned together.
  std::vector<std::string> keys;
  // All axes form one product where the legal part of it is small enough. Else a stage at a time,
  // from the best of the one before: axes that depend on one another stand in one stage, those of
  // the tree in the first.
  std::vector<std::vector<Axis>> stages;
  // The formula's geometry with `pins` on top; no table is asked. Throws Error(kInvalidArgument |
  // kUnsupported) for what is not legal here, Error(kNotFound) for fields and values that do not
  // exist.
  Geometry (*describe)(const Problem&, const Hardware&, const CfgPins& pins) = nullptr;
};

// Legal geometries of the product of `axes` over `base`, which names every geometry field or none;
// each text once. A field in `pinned` keeps its value there. Throws Error(kInternal) for an axis
// that is no geometry.
std::vector<Geometry> expand(const SearchSpec& spec, const Problem& problem,
                             const Hardware& hardware, const CfgPins& base,
                             const std::vector<Axis>& axes, const CfgPins& pinned);
// Points of the product, legal or not.
double product_size(const std::vector<Axis>& axes, const CfgPins& pinned);
// Pins that give the geometry of `geometry` to any problem.
CfgPins pins_of(const Geometry& geometry);

}  // namespace kw::tune
