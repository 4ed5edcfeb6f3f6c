// SPDX-License-Identifier: Apache-2.0
// Syntax of a configuration file: the fields under model.ops_implementation, not what they mean.
// Private: core only; the one place that sees yaml-cpp is its .cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

struct YamlField {
  std::string key;
  std::vector<std::string> values;  // at least one, none empty
  int line = 0;                     // from 1
};

// Every other key of the file is ignored: it is the user's. Throws Error(kInvalidArgument) with
// `name` and line for malformed YAML, a missing model.ops_implementation, repeated keys, and values
// that are neither a string nor a list of strings.
std::vector<YamlField> parse_ops_implementation(std::string_view yaml, std::string_view name);

struct YamlFlag {
  bool value = false;
  int line = 0;
};

// model.require_evidence, if it is there. Throws as the other, and for what is neither true nor
// false.
std::optional<YamlFlag> parse_require_evidence(std::string_view yaml, std::string_view name);

}  // namespace kw
