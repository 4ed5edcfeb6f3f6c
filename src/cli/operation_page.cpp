// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/cli/operation_page.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernelwright/base/text.hpp"
#include "kernelwright/capi/list_json.hpp"
#include "kernelwright/cli/table.hpp"
#include "kernelwright/core/schema.hpp"
#include "kernelwright/ops/catalog.hpp"

namespace kw::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& row, const char* key) {
  const auto value = row.find(key);
  if (value == row.end()) return "";
  return value->is_string() ? value->get<std::string>() : value->dump();
}

std::string variant_table(const Json& contract, bool colour) {
  Table table({"name", "tolerance", "meaning"});
  for (const Json& row : contract["variants"]) {
    table.add({text_of(row, "name"), text_of(row, "tolerance"), text_of(row, "help")});
  }
  return table.text(colour);
}

std::string limits_of(const Json& row) {
  const std::string low = text_of(row, "low"), high = text_of(row, "high");
  return low.empty() && high.empty() ? "" : low + ".." + high;
}

std::string parameter_table(const Json& contract, bool colour) {
  Table table({"name", "role", "type", "shape", "default", "range", "variants", "meaning"});
  for (const Json& row : contract["parameters"]) {
    const bool is_tensor = row.contains("shape");
    std::string type = is_tensor ? text_of(row, "dtype") : text_of(row, "kind");
    if (row.contains("choices")) type = join(row["choices"].get<std::vector<std::string>>(), "|");
    if (row["kind"] == "tensor_list") type = "list of " + type;
    const std::string absent = row["optional"].get<bool>() ? "optional" : "";
    const std::string variants =
        row.contains("variants") ? join(row["variants"].get<std::vector<std::string>>()) : "";
    table.add({text_of(row, "name"), text_of(row, "role"), type, text_of(row, "shape"),
               row.contains("default") ? text_of(row, "default") : absent, limits_of(row), variants,
               text_of(row, "help")});
  }
  return table.text(colour);
}

std::string symbol_table(const Json& contract, bool colour) {
  Table table({"", "", "", ""});
  for (const Json& row : contract["symbols"]) {
    const bool open = row["high"].get<std::int64_t>() == std::numeric_limits<std::int64_t>::max();
    table.add({text_of(row, "name"), text_of(row, "variability"),
               text_of(row, "low") + ".." + (open ? "" : text_of(row, "high")),
               text_of(row, "help")});
  }
  return table.text(colour);
}

std::string implementation_table(const Catalog& catalog, const Operation& operation, bool colour) {
  Table table(
      {"device", ">rank", "name", "needs", "modes", "properties", "variants", "what it is"});
  for (const Implementation& implementation : operation.implementations) {
    const ImplementationInfo& info = implementation.info;
    table.add({device_kind_name(info.device),
               std::to_string(capi::rank_of(operation, implementation)), info.name,
               capability_range_text(info), modes_text(info), properties_text(info),
               variants_text(info), info.description});
  }
  for (const Exclusion& exclusion : catalog.exclusions()) {
    if (exclusion.operation != operation.contract->operation) continue;
    table.add({"", "", Cell(exclusion.implementation, Style::kFaint), "excluded", "", "", "",
               exclusion.reason});
  }
  return table.text(colour);
}

std::string field_table(const Catalog& catalog, const Operation& operation, bool colour) {
  const ConfigField& field = operation.contract->field;
  Table table({"", "", ""});
  table.add({field.name, served_values(operation), "served by this build"});
  for (const auto& [variant, name] : field.variant_names) {
    table.add(
        {name, served_values(operation), "variant " + variant + ", which has a field of its own"});
  }
  for (const KnownValue& known : catalog.known_values()) {
    const bool own = known.field == field.name ||
                     std::any_of(field.variant_names.begin(), field.variant_names.end(),
                                 [&](const auto& entry) { return entry.second == known.field; });
    if (!own) continue;
    std::vector<std::string> devices;
    for (const DeviceKind kind : known.devices) devices.emplace_back(device_kind_name(kind));
    table.add({known.field, known.value,
               known.remedy + (devices.empty() ? "" : ", runs on " + join(devices)) +
                   (known.deprecated ? "; deprecated" : "")});
  }
  return table.text(colour);
}

std::string batch_table(const Operation& operation, bool colour) {
  Table table({"", "", ""});
  for (const suite::SuiteSpec& spec : builtin_suites()) {
    if (spec.operation != operation.contract->operation) continue;
    for (const suite::SuiteBatch& batch : spec.batches) {
      std::size_t count = 0;
      for (const std::string& line : batch.problems) count += expand_problem_text(line).size();
      table.add({batch.name, fmt::format("{} problems", count),
                 batch.problems.empty() ? "" : batch.problems.front()});
    }
  }
  return table.empty() ? "" : table.text(colour);
}

}  // namespace

std::string properties_text(const ImplementationInfo& info) {
  std::vector<std::string> names;
  if (info.deterministic) names.emplace_back("deterministic");
  if (info.batch_invariant) names.emplace_back("batch_invariant");
  if (info.differentiable) names.emplace_back("differentiable");
  if (info.parts != nullptr) names.emplace_back("composed");
  if (info.explicit_only) names.emplace_back("only when named");
  return join(names);
}

std::string modes_text(const ImplementationInfo& info) {
  return info.eager_mode && info.graph_mode ? "eager, graph" : info.eager_mode ? "eager" : "graph";
}

std::string capability_range_text(const ImplementationInfo& info) {
  const bool open = info.max_capability == std::numeric_limits<int>::max();
  const std::string low = capability_text(info.device, info.min_capability);
  if (!open) return low + " to " + capability_text(info.device, info.max_capability);
  return info.min_capability == 0 ? "any" : low + " or newer";
}

std::string variants_text(const ImplementationInfo& info) {
  return info.variants.empty() ? "all" : join(info.variants);
}

std::string served_values(const Operation& operation) {
  std::vector<std::string> values{"auto", "eager"};
  for (const Implementation& implementation : operation.implementations) {
    const std::string& solution = implementation.info.solution;
    if (std::find(values.begin(), values.end(), solution) == values.end()) {
      values.push_back(solution);
    }
  }
  return join(values);
}

std::string operation_page(std::string_view name, const Console& console) {
  const Catalog& catalog = builtin_catalog();
  const Operation& operation = catalog.operation(name);
  const Contract& contract = *operation.contract;
  const Json json = Json::parse(contract_json(contract));
  const bool colour = console.out_colour;

  std::string text = console.heading(contract.operation + ": " + contract.summary);
  Table facts({"", ""});
  facts.add({"version", std::to_string(contract.version)});
  facts.add({"arithmetic", contract.numerical_mode});
  if (!contract.backward.empty()) facts.add({"backward", contract.backward});
  facts.add({"torch", torch_schema(contract)});
  text += facts.text(colour);
  text += "\n" + console.heading("variants") + variant_table(json, colour);
  text += "\n" + console.heading("parameters") + parameter_table(json, colour);
  if (!json["symbols"].empty())
    text += "\n" + console.heading("sizes") + symbol_table(json, colour);
  text +=
      "\n" + console.heading("implementations") + implementation_table(catalog, operation, colour);
  text += "\n" + console.heading("configuration: model.ops_implementation") +
          field_table(catalog, operation, colour);
  const std::string batches = batch_table(operation, colour);
  if (!batches.empty()) {
    text += "\n" +
            console.heading(
                "batches, each with the first of its problems; ci includes smoke, full both") +
            batches;
  }
  return text;
}

}  // namespace kw::cli
