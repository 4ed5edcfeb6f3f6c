// SPDX-License-Identifier: Apache-2.0
// The table of one implementation applied to its Cfg: what `choose` asks between formula and pins.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernelwright/tune/cfg_parts.hpp"
#include "kernelwright/tune/table.hpp"

namespace kw::tune {

// The bucket that stands for `wanted` (index into `names`, ascending): itself, else the next
// smaller that the entry has, else the next larger.
const std::string& nearest_bucket(const Entry& entry, const std::vector<std::string>& names,
                                  int wanted);
// Throws Error(kNotFound) unless every bucket of `entry` is one of `names`.
void require_buckets(const Entry& entry, const std::vector<std::string>& names,
                     const std::string& origin);
// Throws Error(kInvalidArgument) for a field of `fields` that is not among `part`, the `role`
// fields of the Cfg.
void require_part(const CfgPins& fields, const CfgPins& part, std::string_view role,
                  const std::string& origin);
std::string table_origin(const Entry& entry, const std::string& bucket);

inline constexpr const char* kFormulaOrigin = "formula: no table entry fits";

template <typename Cfg>
class CfgTable {
 public:
  // Keeps the entries of `implementation`. `buckets`: of dynamic sizes, ascending. Throws Error
  // that begins with `origin`: fields, values and buckets that the Cfg does not have.
  CfgTable(const Table& table, std::string implementation, std::vector<std::string> buckets,
           const std::string& origin)
      : implementation_(std::move(implementation)), buckets_(std::move(buckets)) {
    for (const Entry& entry : table.entries) {
      if (entry.implementation != implementation_) continue;
      require_known(entry, origin + ", entry " + std::to_string(table_.entries.size()) + " of " +
                               implementation_);
      table_.entries.push_back(entry);
    }
  }

  const std::vector<Entry>& entries() const noexcept { return table_.entries; }

  // Puts the geometry of the best entry for `cfg` in its place, and says whence it is. An entry is
  // passed over where `legal` refuses one of its buckets, so that what is taken, and with it the
  // tree, follows from facts and device alone.
  template <typename Legal>
  std::string apply(Cfg& cfg, const Hardware& hardware, int bucket, const Legal& legal) const {
    if (table_.entries.empty()) return kFormulaOrigin;
    const auto with = [&](const Entry& entry, const std::string& name) {
      Cfg tuned = cfg;
      jit::apply_pins(tuned, entry.tree);
      jit::apply_pins(tuned, entry.buckets.at(name).cfg);
      return tuned;
    };
    const CfgPins facts = parts_of(cfg).facts;
    for (const Entry* entry : matching_entries(table_, implementation_, hardware, facts)) {
      bool is_legal = true;
      for (const auto& choice : entry->buckets) {
        is_legal = is_legal && legal(with(*entry, choice.first));
      }
      if (!is_legal) continue;
      const std::string& name = nearest_bucket(*entry, buckets_, bucket);
      cfg = with(*entry, name);
      return table_origin(*entry, name);
    }
    return kFormulaOrigin;
  }

 private:
  void require_known(const Entry& entry, const std::string& origin) const {
    const CfgParts parts = parts_of(Cfg{});
    Cfg cfg{};
    const auto require = [&](const CfgPins& fields, const CfgPins& part, const char* role) {
      jit::FieldAssignments(fields, origin).apply(cfg);  // first, for it names the nearest field
      require_part(fields, part, role, origin);
    };
    require(entry.when, parts.facts, "fact");
    require(entry.tree, parts.tree, "tree");
    require_buckets(entry, buckets_, origin);
    for (const auto& choice : entry.buckets) require(choice.second.cfg, parts.free, "free");
  }

  std::string implementation_;
  std::vector<std::string> buckets_;
  Table table_;
};

}  // namespace kw::tune
