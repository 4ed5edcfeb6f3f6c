// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/fields.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "kernelwright/base/fail.hpp"

namespace kw::jit {
namespace {

using Json = nlohmann::ordered_json;

Json default_value(const FieldSchema& field) {
  if (field.kind == "bool") return field.default_text == "true";
  if (field.kind == "enum") return field.default_text;
  return *parse_integer(field.default_text);
}

Json schema_value(const std::vector<FieldSchema>& fields) {
  Json list = Json::array();
  for (const FieldSchema& field : fields) {
    Json entry{{"name", field.name}, {"kind", field.kind}};
    if (field.kind == "struct") {
      entry["fields"] = schema_value(field.fields);
    } else {
      entry["default"] = default_value(field);
    }
    if (!field.values.empty()) entry["values"] = field.values;
    list.push_back(std::move(entry));
  }
  return list;
}

void flatten(const Json& object, const std::string& scope, CfgPins& fields) {
  for (const auto& item : object.items()) {
    const std::string path = scope + item.key();
    const Json& value = item.value();
    if (value.is_object()) {
      flatten(value, path + ".", fields);
    } else if (value.is_boolean() || value.is_number_integer()) {
      fields[path] = value.dump();
    } else if (value.is_string()) {
      fields[path] = value.get<std::string>();
    } else {
      fail(Code::kInvalidArgument,
           "request: {}={}: a field takes true or false, an integer, the name of a value, or an "
           "object of such fields",
           path, value.dump());
    }
  }
}

}  // namespace

std::string schema_json(const std::vector<FieldSchema>& fields) {
  return schema_value(fields).dump();
}

CfgPins request_fields(std::string_view json) {
  const Json request = Json::parse(json, nullptr, false);
  if (!request.is_object()) {
    fail(Code::kInvalidArgument, "request: '{}' is not a JSON object of fields", json);
  }
  CfgPins fields;
  flatten(request, "", fields);
  return fields;
}

const std::string* FieldAssignments::find(const std::string& path) {
  known_.push_back(path);
  const auto value = values_.find(path);
  return value == values_.end() ? nullptr : &value->second;
}

void FieldAssignments::refuse_struct(const std::string& path) const {
  if (values_.count(path) == 0) return;
  fail(Code::kInvalidArgument, "{}: {} is a nested struct; name a field of it, as in {}.field",
       origin_, path, path);
}

void FieldAssignments::require_known() const {
  for (const auto& entry : values_) {
    if (std::find(known_.begin(), known_.end(), entry.first) != known_.end()) continue;
    fail_text(Code::kNotFound, origin_ + ": " + unknown_name_message("field", entry.first, known_));
  }
}

bool FieldAssignments::read_bool(const std::string& path, const std::string& text) const {
  if (text != "true" && text != "false") {
    fail(Code::kInvalidArgument, "{}: {}={}: the field takes true or false", origin_, path, text);
  }
  return text == "true";
}

int FieldAssignments::read_enum(const std::string& path, const std::string& text,
                                const std::vector<std::string>& known) const {
  const auto value = std::find(known.begin(), known.end(), text);
  if (value == known.end()) {
    fail_text(Code::kNotFound,
              origin_ + ": " + unknown_name_message("value of '" + path + "'", text, known));
  }
  return static_cast<int>(value - known.begin());
}

long long FieldAssignments::read_integer(const std::string& path, const std::string& text,
                                         long long least, long long most) const {
  const auto number = parse_integer(text);
  if (!number || *number < least || *number > most) {
    fail(Code::kInvalidArgument, "{}: {}={}: the field takes an integer from {} to {}", origin_,
         path, text, least, most);
  }
  return *number;
}

}  // namespace kw::jit
