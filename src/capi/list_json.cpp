// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/capi/list_json.hpp"

#include <algorithm>
#include <limits>

#include "kernelwright/core/schema.hpp"

namespace kw::capi {

using Json = nlohmann::ordered_json;

int rank_of(const Operation& operation, const Implementation& implementation) {
  int rank = 0;
  for (const Implementation& entry : operation.implementations) {
    if (entry.info.device == implementation.info.device) ++rank;
    if (&entry == &implementation) break;
  }
  return rank;
}

namespace {

Json to_json(const Operation& operation, const Implementation& implementation) {
  const ImplementationInfo& info = implementation.info;
  Json variants = Json::array();
  for (const Variant& variant : operation.contract->variants) {
    const auto& served = info.variants;
    if (served.empty() || std::find(served.begin(), served.end(), variant.name) != served.end()) {
      variants.push_back(variant.name);
    }
  }
  return {
      {"name", info.name},
      {"solution", info.solution},
      {"device", device_kind_name(info.device)},
      {"rank", rank_of(operation, implementation)},
      {"min_capability", info.min_capability},
      {"max_capability",
       info.max_capability == std::numeric_limits<int>::max() ? Json() : Json(info.max_capability)},
      {"eager_mode", info.eager_mode},
      {"graph_mode", info.graph_mode},
      {"deterministic", info.deterministic},
      {"batch_invariant", info.batch_invariant},
      {"differentiable", info.differentiable},
      {"composed", info.parts != nullptr},
      {"explicit_only", info.explicit_only},
      {"variants", std::move(variants)},
      {"origin", info.origin},
      {"description", info.description}};
}

}  // namespace

Json catalog_json(const Catalog& catalog, const std::string& only) {
  Json json{{"schema", "kw.list/1"}, {"version", KW_VERSION}};
  json["operations"] = Json::array();
  for (const Operation& operation : catalog.operations()) {
    if (!only.empty() && operation.contract->operation != only) continue;
    Json row = Json::parse(contract_json(*operation.contract));
    row["implementations"] = Json::array();
    for (const Implementation& implementation : operation.implementations) {
      row["implementations"].push_back(to_json(operation, implementation));
    }
    json["operations"].push_back(std::move(row));
  }
  json["excluded"] = Json::array();
  for (const Exclusion& exclusion : catalog.exclusions()) {
    json["excluded"].push_back({{"operation", exclusion.operation},
                                {"implementation", exclusion.implementation},
                                {"reason", exclusion.reason}});
  }
  json["known_fields"] = Json::array();
  for (const KnownField& known : catalog.known_fields()) {
    json["known_fields"].push_back({{"field", known.field},
                                    {"operation", known.operation},
                                    {"variant", known.variant},
                                    {"in_build", catalog.find(known.operation) != nullptr}});
  }
  json["known_values"] = Json::array();
  for (const KnownValue& known : catalog.known_values()) {
    Json devices = Json::array();
    for (const DeviceKind kind : known.devices) devices.push_back(device_kind_name(kind));
    json["known_values"].push_back({{"field", known.field},
                                    {"value", known.value},
                                    {"remedy", known.remedy},
                                    {"devices", std::move(devices)},
                                    {"deprecated", known.deprecated}});
  }
  return json;
}

}  // namespace kw::capi
