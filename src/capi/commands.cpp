// SPDX-License-Identifier: Apache-2.0
// The commands of kw_control.
#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/capi/control.hpp"
#include "kernelwright/capi/diagnosis.hpp"
#include "kernelwright/capi/explain_json.hpp"
#include "kernelwright/capi/list_json.hpp"
#include "kernelwright/capi/place.hpp"
#include "kernelwright/core/binding.hpp"
#include "kernelwright/core/schema.hpp"

namespace kw::capi {
namespace {

constexpr const char* kDeviceHelp = "cpu, cuda, cuda:1 or auto; absent: the device of initialize";

// Defaults are InitializeOptions'.
constexpr Field kInitializeFields[] = {
    {"config_file", Type::kText, "YAML with model.ops_implementation"},
    {"config_text", Type::kText, "the same as text"},
    {"overrides", Type::kTargets, "operation -> implementation, solution, auto, eager or a list"},
    {"device", Type::kText, "cpu, cuda, cuda:1 or auto"},
    {"prepare_on_miss", Type::kBool, "whether a first call may prepare"},
    {"require_evidence", Type::kBool,
     "whether only what is known to have passed numerics is prepared; absent: as the file says"},
    {"mode", Type::kText, "eager or graph"},
};
constexpr Field kListFields[] = {{"operation", Type::kText, "absent: all"}};
constexpr Field kExplainFields[] = {
    {"operation", Type::kText, "this or problem"},
    {"variant", Type::kText, "absent: all"},
    {"problem", Type::kText, "of one call, as text"},
    {"device", Type::kText, kDeviceHelp},
};
constexpr Field kPrepareFields[] = {
    {"problem", Type::kText, "? stands for any size of a dynamic dimension"},
    {"problems", Type::kTexts, "more of them"},
    {"device", Type::kText, kDeviceHelp},
    {"cfg", Type::kCfg, "fields of the Cfg to pin"},
    {"reserve", Type::kBool,
     "whether to reserve the library's own workspace on the default stream, for callers that bring "
     "none; absent: false"},
};
constexpr Field kContractFields[] = {{"operation", Type::kText, "its name"}};
constexpr Field kDeviceFields[] = {{"device", Type::kText, kDeviceHelp}};

Json targets_json(const Choice& choice) {
  return {{"targets", choice.targets},
          {"source", source_name(choice.source)},
          {"origin", choice.origin}};
}

Json settings_json(const Place& place) {
  const Settings& settings = place.context.settings();
  const Bindings& bindings = place.context.bindings();
  Json json{{"device", device_name(place.port)},
            {"model", place.port.hardware().model},
            {"settings", settings.text()},
            {"mode", mode_name(bindings.mode)},
            {"prepare_on_miss", settings.prepare_on_miss},
            {"require_evidence", settings.require_evidence},
            {"operations", Json::array()}};
  for (const OperationBinding& row : bindings.operations) {
    json["operations"].push_back(
        {{"operation", row.operation->contract->operation},
         {"variant", row.variant_name()},
         {"choice", targets_json(row.choice)},
         {"first", row.candidates.empty() ? "" : row.candidates.front()->info.name},
         {"absent", row.absent}});
  }
  json["warnings"] = settings.on_device(place.context.catalog(), bindings.hardware.kind).warnings();
  return json;
}

std::string run_initialize(const Request& request) {
  InitializeOptions options = options_of(request);
  options.device = request.text("device", options.device);
  options.prepare_on_miss = request.boolean("prepare_on_miss", options.prepare_on_miss);
  if (request.has("require_evidence"))
    options.require_evidence = request.boolean("require_evidence", false);
  Context& context = initialize(options);
  return dump(settings_json({context, context.device()}));
}

std::string run_settings(const Request& request) {
  return dump(settings_json(place_of(request.text("device"))));
}

std::string run_list(const Request& request) {
  const Catalog& catalog = builtin_catalog();
  const std::string operation = request.text("operation");
  if (request.has("operation")) catalog.operation(operation);  // throws, with the nearest name
  return dump(catalog_json(catalog, operation));
}

std::string run_explain(const Request& request) {
  if (request.has("operation") == request.has("problem")) {
    fail(Code::kInvalidArgument,
         "request 'explain' needs one of the fields 'operation', 'problem'");
  }
  if (request.has("problem") && request.has("variant")) {
    fail(Code::kInvalidArgument,
         "request 'explain': the field 'problem' names its variant; leave out 'variant'");
  }
  const Place place = place_of(request.text("device"));
  Context& context = place.context;
  std::vector<Explanation> explanations;
  for (const Problem& problem : problems_of(request, context.catalog())) {
    explanations.push_back(explain(context, problem));
    look_up_evidence(context, place.port, problem, explanations.back());
  }
  if (request.has("operation")) {
    const std::string operation = request.text("operation"), only = request.text("variant");
    const Contract& contract = *context.catalog().operation(operation).contract;
    if (request.has("variant")) contract.variant_index(only);
    for (const Variant& variant : contract.variants) {
      if (only.empty() || variant.name == only)
        explanations.push_back(explain(context, operation, variant.name));
    }
  }
  return dump(explanations_json(explanations));
}

Json prepared_json(const Place& place, const Problem& problem, const CfgPins& pins, bool reserve) {
  Binding& binding = place.context.binding(problem.operation(), problem.variant_name());
  const Recipe recipe = binding.decide(problem, place.port, pins);
  if (reserve) {
    place.context.prepare(problem, pins, {&place.port, nullptr, nullptr});
  } else {
    binding.build(recipe, place.port);
  }
  Json row{{"problem", problem_text(problem)},
           {"device", device_name(place.port)},
           {"implementation", recipe.implementation->info.name},
           {"specialization", recipe.specialization.text},
           {"geometry", recipe.specialization.origin},
           {"workspace", nullptr}};  // of free dimensions: nobody knows
  if (!problem.has_free_dims()) {
    row["workspace"] = {{"bytes", recipe.workspace.bytes},
                        {"zeroed_bytes", recipe.workspace.zeroed_bytes}};
  }
  return row;
}

std::string run_prepare(const Request& request) {
  const Place place = place_of(request.text("device"));
  const std::vector<Problem> problems = problems_of(request, place.context.catalog());
  if (problems.empty()) {
    fail(Code::kInvalidArgument, "request 'prepare' needs the field 'problem' or 'problems'");
  }
  const CfgPins pins = request.cfg("cfg");
  Json rows = Json::array();
  for (const Problem& problem : problems) {
    rows.push_back(prepared_json(place, problem, pins, request.boolean("reserve", false)));
  }
  return dump(Json{{"prepared", std::move(rows)}});
}

// Before initialize, a look must not end registration.
std::string run_doctor(const Request&) { return doctor_json(diagnose(Resolving::kIfFrozen)); }

std::string run_contract(const Request& request) {
  request.require("operation");
  return contract_json(*builtin_catalog().operation(request.text("operation")).contract);
}

std::string run_counters(const Request& request) {
  const Counters counters = place_of(request.text("device")).context.counters();
  return dump(Json{{"plans_built", counters.plans_built},
                   {"problems_prepared", counters.problems_prepared},
                   {"misses", counters.misses},
                   {"not_prepared", counters.not_prepared}});
}

constexpr Command kCommands[] = {
    {"initialize", "chooses device and implementations, once per process", kInitializeFields,
     run_initialize},
    {"list", "what this build has", kListFields, run_list},
    {"explain", "which implementation serves, and why no other does", kExplainFields, run_explain},
    {"prepare", "compiles and reserves what problems need", kPrepareFields, run_prepare},
    {"doctor", "devices, compiler, caches, environment, problems", {}, run_doctor},
    {"contract", "one operation's parameters, variants and schemas", kContractFields, run_contract},
    {"counters", "of the context: plans built, misses", kDeviceFields, run_counters},
    {"settings", "choices in effect and their origin", kDeviceFields, run_settings},
};

}  // namespace

std::span<const Command> commands() noexcept { return kCommands; }

InitializeOptions options_of(const Request& request) {
  InitializeOptions options;
  options.config_file = request.text("config_file");
  options.config_text = request.text("config_text");
  options.overrides = request.targets("overrides");
  if (request.has("mode")) options.mode = parse_mode(request.text("mode"));
  return options;
}

std::vector<Problem> problems_of(const Request& request, const Catalog& catalog) {
  std::vector<std::string> texts = request.has("problem")
                                       ? std::vector<std::string>{request.text("problem")}
                                       : std::vector<std::string>{};
  for (std::string& text : request.texts("problems")) texts.push_back(std::move(text));
  std::vector<Problem> problems;
  for (const std::string& text : texts) {
    for (const std::string& single : expand_problem_text(text)) {
      problems.push_back(parse_problem(single, catalog));
    }
  }
  return problems;
}

}  // namespace kw::capi
