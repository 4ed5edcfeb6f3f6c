// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/capi/control.hpp"

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/capi/boundary.hpp"
#include "kernelwright/capi/precompile.hpp"

namespace kw::capi {
namespace {

constexpr Field kPrecompileFields[] = {
    {"problem", Type::kText, "? stands for any size of a dynamic dimension"},
    {"problems", Type::kTexts, "more of them"},
    {"batch", Type::kText, "instead of problems: smoke, ci, full or a file"},
    {"operation", Type::kText, "of the batch; absent: all"},
    {"variant", Type::kText, "of the batch; absent: all"},
    {"arch", Type::kTexts, "sm_90a, ...; absent: KW_ARCH, or of the devices here"},
    {"config_file", Type::kText, "as for initialize"},
    {"config_text", Type::kText, "as for initialize"},
    {"overrides", Type::kTargets, "as for initialize"},
    {"mode", Type::kText, "as for initialize"},
    {"cfg", Type::kCfg, "fields of the Cfg to pin"},
    {"pack", Type::kText, "a directory that gets the kernels, too"},
};

std::string known_commands(const std::string& name) {
  std::vector<std::string> known;
  for (const Command& command : commands()) known.emplace_back(command.name);
  return name.empty() ? "known: " + join(known) : unknown_name_message("command", name, known);
}

std::string control(const char* text) {
  Json object = parse_object(text);
  if (!object.contains("command")) {
    fail_text(Code::kInvalidArgument, "the request has no field 'command'; " + known_commands(""));
  }
  if (!object["command"].is_string()) {
    fail(Code::kInvalidArgument, "the request's field 'command' is {}; it takes text",
         dump(object["command"]));
  }
  const std::string name = object["command"].get<std::string>();
  for (const Command& command : commands()) {
    if (name != command.name) continue;
    object.erase("command");
    return command.run(Request(std::move(object), name, command.fields));
  }
  fail_text(Code::kNotFound, known_commands(name));
}

std::string run_precompile(const char* text) {
  const Request request(parse_object(text), "precompile", kPrecompileFields);
  Catalog& catalog = builtin_catalog();
  PrecompileRequest work;
  work.problems = problems_of(request, catalog);
  work.from_batch = request.has("batch");
  if (work.from_batch != work.problems.empty()) {
    fail(Code::kInvalidArgument, "request 'precompile' needs problems or a batch, not both");
  }
  const std::string operation = request.text("operation"), variant = request.text("variant");
  if (!work.from_batch && !(operation + variant).empty()) {
    fail(Code::kInvalidArgument,
         "request 'precompile': 'operation' and 'variant' choose from a batch; problems name "
         "theirs");
  }
  if (request.has("operation")) {
    const Contract& contract = *catalog.operation(operation).contract;
    if (request.has("variant")) contract.variant_index(variant);
  }
  if (work.from_batch) {
    work.problems = problems_of_batch(catalog, request.text("batch"), operation, variant);
  }
  work.settings = make_settings(catalog, options_of(request));
  work.pins = request.cfg("cfg");
  work.pack = request.text("pack");
  work.architectures = target_architectures(request.texts("arch"), "field 'arch'");
  return precompile_json(precompile(work));
}

std::string request_schema() {
  Json rows = Json::array();
  for (const Command& command : commands()) {
    rows.push_back(
        {{"name", command.name}, {"help", command.help}, {"fields", fields_json(command.fields)}});
  }
  rows.push_back({{"name", "precompile"},
                  {"help", "kw_precompile: compiles what problems need into the cache"},
                  {"fields", fields_json(precompile_fields())}});
  rows.push_back({{"name", "plan"},
                  {"help", "kw_plan_create: fixes implementation and Cfg of a problem"},
                  {"fields", fields_json(plan_fields())}});
  return dump(Json{{"commands", std::move(rows)}});
}

}  // namespace

std::span<const Field> precompile_fields() noexcept { return kPrecompileFields; }

}  // namespace kw::capi

extern "C" {

int kw_control(const char* request_json, char** reply_json) noexcept {
  return kw::capi::answered(reply_json, "reply_json", [&] {
    return kw::capi::control(kw::capi::require_text(request_json, "request_json"));
  });
}

int kw_precompile(const char* request_json, char** reply_json) noexcept {
  return kw::capi::answered(reply_json, "reply_json", [&] {
    return kw::capi::run_precompile(kw::capi::require_text(request_json, "request_json"));
  });
}

int kw_request_schema(char** json) noexcept {
  return kw::capi::answered(json, "json", [] { return kw::capi::request_schema(); });
}

}  // extern "C"
