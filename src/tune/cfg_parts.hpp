// SPDX-License-Identifier: Apache-2.0
// The fields of a Cfg in three parts, by their order in its `visit`: facts of the problem; from the
// field named by Cfg::kTreeFrom on, geometry that fixes the order of summation within a row; from
// Cfg::kFreeFrom on, the rest of the geometry. A new field belongs to the part it stands in.
#pragma once

#include <string>
#include <string_view>

#include "kernelwright/jit/fields.hpp"

namespace kw::tune {

struct CfgParts {
  CfgPins facts, tree, free;  // by field name, nested ones as "inner.width"
};

struct PartBegins {
  int tree = -1, free = -1;  // positions in `visit`; -1: it names no such field
};

template <typename Cfg>
constexpr PartBegins part_begins() {
  PartBegins begins;
  int position = 0;
  const auto look = [&](const char* name, const auto&...) {
    if (std::string_view(name) == Cfg::kTreeFrom) begins.tree = position;
    if (std::string_view(name) == Cfg::kFreeFrom) begins.free = position;
    ++position;
  };
  const Cfg cfg{};
  Cfg::visit(cfg, look);
  return begins;
}

template <typename Cfg>
CfgParts parts_of(const Cfg& cfg) {
  constexpr PartBegins kBegins = part_begins<Cfg>();
  static_assert(kBegins.tree >= 0 && kBegins.free >= kBegins.tree,
                "Cfg::kTreeFrom and Cfg::kFreeFrom name fields of visit, in its order");
  CfgParts parts;
  CfgPins* part = &parts.facts;
  for (auto& [name, value] : jit::describe_cfg(cfg)) {
    const std::string field = name.substr(0, name.find('.'));
    if (field == Cfg::kTreeFrom) part = &parts.tree;
    if (field == Cfg::kFreeFrom) part = &parts.free;
    part->emplace(name, value);
  }
  return parts;
}

// Whether the field `name` follows from the problem.
template <typename Cfg>
bool is_fact(const std::string& name) {
  return parts_of(Cfg{}).facts.count(name) > 0;
}

}  // namespace kw::tune
