// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/request.hpp"

#include <algorithm>
#include <set>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"

namespace kw::suite {
namespace {

// Operations in question: the named one, that of the problems, or all.
std::vector<const Operation*> operations_in_question(const Request& request,
                                                     const Catalog& catalog) {
  if (!request.operation.empty()) return {&catalog.operation(request.operation)};
  std::vector<const Operation*> operations;
  for (const std::string& text : request.problems) {
    const Operation* operation = &catalog.operation(text.substr(0, text.find('/')));
    if (std::find(operations.begin(), operations.end(), operation) == operations.end())
      operations.push_back(operation);
  }
  if (!operations.empty()) return operations;
  for (const Operation& operation : catalog.operations()) operations.push_back(&operation);
  return operations;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

bool matches_dtype(const Problem& problem, std::string_view dtype) {
  if (dtype.empty()) return true;
  for (const ParameterValue& value : problem.values) {
    if (value.tensor.present) return dtype_name(value.tensor.dtype) == dtype;
    if (!value.list.empty()) return dtype_name(value.list.front().dtype) == dtype;
  }
  return false;
}

}  // namespace

std::vector<Target> find_targets(const Request& request, const Platform& platform) {
  const Catalog& catalog = platform.catalog;
  if (const auto [operation, implementation] = catalog.find_implementation(request.implementation);
      implementation != nullptr) {
    if (!request.operation.empty() && request.operation != operation->contract->operation) {
      fail(Code::kInvalidArgument, "implementation '{}' belongs to operation '{}', not to '{}'",
           request.implementation, operation->contract->operation, request.operation);
    }
    return {{operation, implementation}};
  }
  std::vector<Target> targets;
  std::vector<std::string> known, here;  // exact names and solutions; solutions of this device
  std::string elsewhere;                 // the kind of device that has the one asked for
  const DeviceKind device = platform.device.hardware().kind;
  for (const Operation* operation : operations_in_question(request, catalog)) {
    for (const Implementation& implementation : operation->implementations) {
      known.push_back(implementation.info.name);
      add_once(known, implementation.info.solution);
      if (implementation.info.device != device) {
        if (implementation.info.solution == request.implementation)
          elsewhere = device_kind_name(implementation.info.device);
        continue;
      }
      add_once(here, implementation.info.solution);
      const bool wanted = request.implementation.empty()
                              ? !implementation.info.explicit_only
                              : implementation.info.solution == request.implementation;
      if (wanted) targets.push_back({operation, &implementation});
    }
  }
  if (!request.implementation.empty() && targets.empty()) {
    if (elsewhere.empty())
      fail(Code::kNotFound, "{}",
           unknown_name_message("implementation", request.implementation, known));
    fail(Code::kUnsupported,
         "'{0}' needs a {1} device; this one is {2}: give --device {1}, or name one of {3}",
         request.implementation, elsewhere, platform.device.name(), join(here));
  }
  return targets;
}

std::vector<Problem> find_problems(const Request& request, const Platform& platform,
                                   const Contract& contract) {
  for (const std::string& variant : request.variants) contract.variant_index(variant);
  if (!request.dtype.empty() && !parse_dtype(request.dtype)) {
    fail_text(Code::kNotFound, unknown_dtype_message(request.dtype));
  }
  std::vector<std::string> lines;
  if (!request.problems.empty()) {
    for (const std::string& text : request.problems) {
      if (text.substr(0, text.find('/')) == contract.operation) lines.push_back(text);
    }
  } else {
    const auto suite =
        std::find_if(platform.suites.begin(), platform.suites.end(),
                     [&](const SuiteSpec& s) { return s.operation == contract.operation; });
    if (suite == platform.suites.end()) {
      fail(Code::kNotFound,
           "operation '{}' has no suite; give problems, or add src/ops/<operation>/suite.yaml",
           contract.operation);
    }
    lines = batch_lines(*suite, request.batch);
  }
  std::vector<Problem> problems;
  std::set<std::string> seen;
  for (Problem& problem : parse_problems(lines, contract, platform.catalog)) {
    const bool variant =
        request.variants.empty() || std::find(request.variants.begin(), request.variants.end(),
                                              problem.variant_name()) != request.variants.end();
    if (!variant || !matches_dtype(problem, request.dtype) ||
        !seen.insert(problem_text(problem)).second)
      continue;
    problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace kw::suite
