// SPDX-License-Identifier: Apache-2.0
// The one explicit list of operations, and the process entry that uses it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernelwright/core/context.hpp"
#include "kernelwright/suite/suite.hpp"
#include "kernelwright/tune/search.hpp"

namespace kw {

// Adds every operation of this build, and the configuration vocabulary, to `catalog`.
void add_builtin_operations(Catalog& catalog);

// The catalog of this process; filled on first use.
Catalog& builtin_catalog();

// The suites of the operations in the catalog.
const std::vector<suite::SuiteSpec>& builtin_suites();

// The search spaces of their implementations.
const std::vector<tune::SearchSpec>& builtin_searches();

struct InitializeOptions {
  std::string config_file{};  // YAML; empty: none
  std::string config_text{};  // YAML itself; at most one of the two
  std::map<std::string, std::string>
      overrides{};  // operation -> "native", "[a, b]", "auto", "eager"
  std::string device =
      "cpu";  // "cuda", "cuda:1"; "auto": cuda where the driver shows one, else cpu
  bool prepare_on_miss = true;
  Mode mode = Mode::kEager;
  std::optional<bool> require_evidence{};  // absent: as the configuration says, else false
};

// The settings of `options` with KW_OVERRIDE_* of this process on top. Throws Error on unknown
// names.
Settings make_settings(Catalog& catalog, const InitializeOptions& options);

// Resolves once for this process. The same effective options again return the
// same Context; others throw Error(kConflict).
Context& initialize(const InitializeOptions& options = {});

}  // namespace kw
