// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/tune/search.hpp"

#include <set>

#include "kernelwright/base/fail.hpp"

namespace kw::tune {
namespace {

void require_geometry(const SearchSpec& spec, const Geometry& formula, const std::string& field) {
  if (formula.parts.tree.count(field) > 0 || formula.parts.free.count(field) > 0) return;
  fail(Code::kInternal, "the search space of {} has an axis '{}', which is no geometry field",
       spec.implementation, field);
}

}  // namespace

std::vector<Geometry> expand(const SearchSpec& spec, const Problem& problem,
                             const Hardware& hardware, const CfgPins& base,
                             const std::vector<Axis>& axes, const CfgPins& pinned) {
  CfgPins pins = base;
  for (const auto& pin : pinned) pins[pin.first] = pin.second;
  const Geometry formula = spec.describe(problem, hardware, {});
  std::vector<Geometry> legal;
  std::set<std::string> seen;
  const auto add = [&] {
    try {
      Geometry geometry = spec.describe(problem, hardware, pins);
      if (seen.insert(geometry.text).second) legal.push_back(std::move(geometry));
    } catch (const Error& error) {
      if (error.code() != Code::kInvalidArgument && error.code() != Code::kUnsupported) throw;
    }
  };
  const auto walk = [&](const auto& self, std::size_t i) -> void {
    if (i == axes.size()) return add();
    const Axis& axis = axes[i];
    require_geometry(spec, formula, axis.field);
    if (pinned.count(axis.field) > 0) return self(self, i + 1);
    for (const std::string& value : axis.values) {
      pins[axis.field] = value;
      self(self, i + 1);
    }
  };
  walk(walk, 0);
  return legal;
}

double product_size(const std::vector<Axis>& axes, const CfgPins& pinned) {
  double size = 1;
  for (const Axis& axis : axes) {
    if (pinned.count(axis.field) == 0) size *= static_cast<double>(axis.values.size());
  }
  return size;
}

CfgPins pins_of(const Geometry& geometry) {
  CfgPins pins = geometry.parts.tree;
  pins.insert(geometry.parts.free.begin(), geometry.parts.free.end());
  return pins;
}

}  // namespace kw::tune
