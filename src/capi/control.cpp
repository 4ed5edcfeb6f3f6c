// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/capi/control.hpp"

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/capi/explain_json.hpp"
#include "kernelwright/capi/list_json.hpp"
#include "kernelwright/capi/request.hpp"
#include "kernelwright/core/binding.hpp"
#include "kernelwright/core/schema.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/ops/process.hpp"

namespace kw::capi {
namespace {

using Json = nlohmann::ordered_json;

// The default context, or that of the device that was named.
Context& context_of(const std::optional<std::string>& device) {
  Context* const standard = Context::process_default();
  if (!device && standard != nullptr) return *standard;
  return process_context(runtime::parse_device_name(device.value_or("cpu")));
}

Json initialize(Request& request) {
  InitializeOptions options;
  options.config_file = request.text("config_file").value_or("");
  options.config_text = request.text("config_text").value_or("");
  options.overrides = request.words("overrides");
  options.device = request.text("device").value_or(options.device);
  options.prepare_on_miss = request.flag("prepare_on_miss").value_or(options.prepare_on_miss);
  if (const auto mode = request.text("mode")) options.mode = parse_mode(*mode);
  request.refuse_the_rest();
  const Context& context = kw::initialize(options);
  const Hardware& hardware = context.bindings().hardware;
  return {{"device", runtime::device_name_text({hardware.kind, hardware.index})},
          {"model", hardware.model},
          {"settings", context.settings().text()},
          {"warnings", context.settings().warnings()}};
}

Json list(Request& request) {
  const std::string operation = request.text("operation").value_or("");
  request.refuse_the_rest();
  const Catalog& catalog = builtin_catalog();
  if (!operation.empty()) catalog.operation(operation);  // throws, with the nearest name
  return catalog_json(catalog, operation);
}

Json explain(Request& request) {
  const auto operation = request.text("operation"), variant = request.text("variant"),
             problem = request.text("problem"), device = request.text("device");
  request.refuse_the_rest();
  if (operation.has_value() == problem.has_value()) {
    fail(Code::kInvalidArgument, "explain: give either 'operation' or 'problem'; operations: {}",
         join(builtin_catalog().operation_names()));
  }
  const Context& context = context_of(device);
  if (problem) {
    return explanations_json({kw::explain(context, parse_problem(*problem, builtin_catalog()))});
  }
  const Contract& contract = *builtin_catalog().operation(*operation).contract;
  if (variant) return explanations_json({kw::explain(context, *operation, *variant)});
  std::vector<Explanation> all;
  for (const Variant& each : contract.variants) {
    all.push_back(kw::explain(context, *operation, each.name));
  }
  return explanations_json(all);
}

Json prepare(Request& request) {
  const auto texts = request.texts("problems");
  const auto device = request.text("device");
  const CfgPins pins = request.words("cfg");
  request.refuse_the_rest();
  if (!texts)
    fail(Code::kInvalidArgument, "prepare: 'problems' is missing: a list of problem texts");
  std::vector<Problem> problems;  // all are read before the first is built
  for (const std::string& text : *texts) problems.push_back(parse_problem(text, builtin_catalog()));
  Context& context = context_of(device);
  Json prepared = Json::array();
  for (const Problem& problem : problems) {
    Binding& binding = context.binding(problem.operation(), problem.variant_name());
    const Recipe recipe = binding.decide(problem, context.device(), pins);
    binding.build(recipe, context.device());
    prepared.push_back({{"problem", problem_text(problem)},
                        {"implementation", recipe.implementation->info.name},
                        {"specialization", recipe.specialization.text},
                        {"geometry", recipe.specialization.origin}});
    // With a free dimension only a call knows its size.
    if (!problem.has_free_dims()) {
      prepared.back()["workspace_bytes"] = recipe.workspace.bytes;
    }
  }
  return {{"prepared", std::move(prepared)}};
}

Json contract(Request& request) {
  const auto operation = request.text("operation");
  request.refuse_the_rest();
  if (!operation) {
    fail(Code::kInvalidArgument, "contract: 'operation' is missing; operations: {}",
         join(builtin_catalog().operation_names()));
  }
  return Json::parse(contract_json(*builtin_catalog().operation(*operation).contract));
}

Json counters(Request& request) {
  const auto device = request.text("device");
  request.refuse_the_rest();
  const Counters counters = context_of(device).counters();
  return {{"plans_built", counters.plans_built},
          {"problems_prepared", counters.problems_prepared},
          {"misses", counters.misses},
          {"not_prepared", counters.not_prepared}};
}

struct Command {
  const char* name;
  Json (*run)(Request&);
};
constexpr Command kCommands[] = {{"initialize", initialize}, {"list", list},
                                 {"explain", explain},       {"prepare", prepare},
                                 {"contract", contract},     {"counters", counters}};

}  // namespace

std::string control(const char* text) {
  Request request(text);
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (request.command() == command.name) {
      return command.run(request).dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    names.emplace_back(command.name);
  }
  fail_text(Code::kNotFound, unknown_name_message("command", request.command(), names));
}

}  // namespace kw::capi
