// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/args_schema.hpp"

#include <nlohmann/json.hpp>

namespace kw::jit {

std::string schema_json(const std::vector<ArgField>& fields, std::size_t size) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const ArgField& field : fields) {
    Json entry{
        {"name", field.name}, {"kind", field.kind}, {"offset", field.offset}, {"size", field.size}};
    if (field.count != 1) entry["count"] = field.count;
    if (!field.values.empty()) entry["values"] = field.values;
    list.push_back(std::move(entry));
  }
  return Json{{"size", size}, {"fields", std::move(list)}}.dump();
}

}  // namespace kw::jit
