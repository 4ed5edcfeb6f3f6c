// SPDX-License-Identifier: Apache-2.0
// `tuning.json` of an operation folder as a value, schema kw.tuning/1:
//   {"schema": "kw.tuning/1", "entries": [{
//     "implementation": "cuda.jit.scale",
//     "device": {"capability": "sm_90", "model": "NVIDIA H200"},
//     "when": {"element": "bf16", "hidden": 7168},       facts of the Cfg; one left out is any
//     "cfg": {"threads_per_row": 448},                   geometry of every bucket: the tree
//     "buckets": {"many": {"cfg": {"unroll": 2}, "ms": 0.113, "default_ms": 0.122,
//                          "problems": ["scale/standard x=..."]}},
//     "date": "2026-11-30", "revision": "..."}]}
// The tree stands outside the buckets, and `when` cannot name a bucket: which order of summation an
// entry gives never follows from the number of rows.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernelwright/core/implementation.hpp"

namespace kw::tune {

struct BucketChoice {
  CfgPins cfg;                        // free geometry
  double ms = 0, default_ms = 0;      // geometric means over `problems`; default: the formula's
  std::vector<std::string> problems;  // on which it was measured
};

struct Entry {
  std::string implementation;
  std::string capability, model;  // of the device it was measured on; capability: "sm_90"
  CfgPins when, tree;
  std::map<std::string, BucketChoice> buckets;  // at least one
  std::string date, revision;

  bool same_key(const Entry& other) const {
    return implementation == other.implementation && capability == other.capability &&
           model == other.model && when == other.when;
  }
};

struct Table {
  std::vector<Entry> entries;
};

// Throws Error(kInvalidArgument | kNotFound) that begins with `origin` and names the entry: members
// that do not exist or are missing, and entries between which nothing decides.
Table parse_table(std::string_view json, const std::string& origin);
// Equal tables give equal text, whatever the order of their entries.
std::string table_text(const Table& table);

// Puts `entry` in the place of the one with its key. Buckets that it lacks are kept if they have
// its tree; the names of those that are lost come back.
std::vector<std::string> replace_entry(Table& table, Entry entry);

// Entries of `implementation` for this capability whose `when` agrees with `facts`, best first:
// those of this model, then those that name more facts.
std::vector<const Entry*> matching_entries(const Table& table, std::string_view implementation,
                                           const Hardware& hardware, const CfgPins& facts);

}  // namespace kw::tune
