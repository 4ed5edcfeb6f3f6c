// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/ops/catalog.hpp"

#include <iterator>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/log.hpp"
#include "kernelwright/base/ranges.hpp"
#include "kernelwright/core/environment.hpp"
#include "kernelwright/ops/embedded_suites.hpp"
#include "kernelwright/ops/evidence_gate.hpp"
#include "kernelwright/ops/known_values.hpp"
#include "kernelwright/ops/process.hpp"
#include "kernelwright/ops/rms_norm/contract.hpp"
#include "kernelwright/suite/suite_yaml.hpp"

namespace kw {
namespace {

// One operation folder: its operations, and what may be tuned.
struct Folder {
  std::vector<Operation> (*operations)();
  std::vector<tune::SearchSpec> (*searches)() = nullptr;
};

constexpr Folder kFolders[] = {
    {ops::rms_norm::operations, ops::rms_norm::searches},
};

// A process that computes comes by here before its first call.
void attach_profiler() {
  std::string library;
  try {
    library = environment().nvtx_tool;
  } catch (const Error&) {
    return;  // a malformed variable: for whoever wants its value to report
  }
  if (library.empty()) return;
  const std::string why = attach_range_tool(library);
  if (why.empty()) return;
  log(LogLevel::kWarning, "profiler",
      "NVTX_INJECTION64_PATH: " + why + "; nothing is told of calls. Correct it or unset it");
}

}  // namespace

void add_builtin_operations(Catalog& catalog) {
  for (const Folder& folder : kFolders) {
    for (Operation& operation : folder.operations()) catalog.add(std::move(operation));
  }
  ops::add_known_values(catalog);
}

Catalog& builtin_catalog() {
  static Catalog* const catalog = [] {
    attach_profiler();
    auto* made = new Catalog;  // never destroyed: slots of other translation units may outlive main
    add_builtin_operations(*made);
    made->set_evidence_gate(make_evidence_gate());
    return made;
  }();
  return *catalog;
}

const std::vector<suite::SuiteSpec>& builtin_suites() {
  static const std::vector<suite::SuiteSpec> all = [] {
    std::vector<suite::SuiteSpec> suites;
    const std::vector<std::string> operations = builtin_catalog().operation_names();
    for (const ops::EmbeddedSuite& embedded : ops::embedded_suites()) {
      const std::string name = "src/ops/" + std::string(embedded.folder) + "/suite.yaml";
      std::vector<suite::SuiteSpec> more = suite::parse_suites(embedded.text, name, operations);
      std::move(more.begin(), more.end(), std::back_inserter(suites));
    }
    return suites;
  }();
  return all;
}

const std::vector<tune::SearchSpec>& builtin_searches() {
  static const std::vector<tune::SearchSpec> all = [] {
    std::vector<tune::SearchSpec> searches;
    for (const Folder& folder : kFolders) {
      if (folder.searches == nullptr) continue;
      std::vector<tune::SearchSpec> more = folder.searches();
      std::move(more.begin(), more.end(), std::back_inserter(searches));
    }
    return searches;
  }();
  return all;
}

Settings make_settings(Catalog& catalog, const InitializeOptions& options) {
  Settings settings;
  if (!options.config_file.empty() && !options.config_text.empty()) {
    fail(Code::kInvalidArgument, "both a configuration file ('{}') and a text were given; give one",
         options.config_file);
  }
  if (!options.config_file.empty()) settings.load_file(catalog, options.config_file);
  if (!options.config_text.empty()) settings.load_yaml(catalog, options.config_text, "config_text");
  for (const auto& [operation, value] : options.overrides) {
    settings.set(catalog, operation, parse_targets(value), Source::kExplicit,
                 "override " + operation);
  }
  settings.apply_environment(catalog, environment().overrides);
  settings.prepare_on_miss = options.prepare_on_miss;
  settings.mode = options.mode;
  if (options.require_evidence) {
    settings.require_evidence = *options.require_evidence;
    settings.require_evidence_origin = "argument of initialize";
  }
  return settings;
}

Context& initialize(const InitializeOptions& options) {
  Catalog& catalog = builtin_catalog();
  Settings settings = make_settings(catalog, options);
  return Context::initialize(catalog, std::move(settings), process_device(options.device));
}

}  // namespace kw
