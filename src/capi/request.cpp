// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/capi/request.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/jit/fields.hpp"

namespace kw::capi {
namespace {

constexpr std::string_view kTypeNames[] = {"text", "a boolean", "text or a list of texts",
                                           "an object of texts or lists of texts",
                                           "an object of booleans, integers and texts"};

std::string_view type_name(Type type) noexcept { return kTypeNames[static_cast<int>(type)]; }

std::string_view kind_of(const Json& value) noexcept {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "a list";
    case Json::value_t::string:
      return "text";
    case Json::value_t::boolean:
      return "a boolean";
    default:
      return "a number";
  }
}

// "a number (3)": short values are quoted.
std::string found(const Json& value) {
  const std::string text = dump(value);
  return std::string(kind_of(value)) + (text.size() <= 40 ? " (" + text + ")" : "");
}

bool is_texts(const Json& value) {
  return value.is_string() ||
         (value.is_array() &&
          std::all_of(value.begin(), value.end(), [](const Json& row) { return row.is_string(); }));
}

bool is_of(const Json& value, Type type) {
  switch (type) {
    case Type::kText:
      return value.is_string();
    case Type::kBool:
      return value.is_boolean();
    case Type::kTexts:
      return is_texts(value);
    case Type::kTargets:
      return value.is_object() && std::all_of(value.begin(), value.end(), is_texts);
    case Type::kCfg:
      return value.is_object();  // its members are for request_fields()
  }
  return false;
}

std::vector<std::string> texts_of(const Json& value) {
  if (value.is_string()) return {value.get<std::string>()};
  return value.get<std::vector<std::string>>();
}

}  // namespace

Request::Request(Json object, std::string_view name, std::span<const Field> fields)
    : object_(std::move(object)), name_(name) {
  for (const auto& [key, value] : object_.items()) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&key = key](const Field& row) { return row.name == key; });
    if (field == fields.end()) {
      std::vector<std::string> known;
      for (const Field& row : fields) known.emplace_back(row.name);
      fail_text(Code::kNotFound,
                "request '" + name_ + "': " + unknown_name_message("field", key, known));
    }
    if (!value.is_null() && !is_of(value, field->type)) {
      fail(Code::kInvalidArgument, "request '{}': field '{}' is {}; it takes {}", name_, key,
           found(value), type_name(field->type));
    }
  }
}

bool Request::has(const char* field) const {
  const auto found = object_.find(field);
  return found != object_.end() && !found->is_null();
}

std::string Request::text(const char* field, std::string_view otherwise) const {
  return has(field) ? object_[field].get<std::string>() : std::string(otherwise);
}

bool Request::boolean(const char* field, bool otherwise) const {
  return has(field) ? object_[field].get<bool>() : otherwise;
}

std::vector<std::string> Request::texts(const char* field) const {
  return has(field) ? texts_of(object_[field]) : std::vector<std::string>{};
}

std::map<std::string, std::string> Request::targets(const char* field) const {
  std::map<std::string, std::string> result;
  if (!has(field)) return result;
  for (const auto& [name, value] : object_[field].items()) {
    result[name] = value.is_string() ? value.get<std::string>() : "[" + join(texts_of(value)) + "]";
  }
  return result;
}

CfgPins Request::cfg(const char* field) const {
  return has(field) ? jit::request_fields(dump(object_[field])) : CfgPins{};
}

void Request::require(const char* field) const {
  if (!has(field)) fail(Code::kInvalidArgument, "request '{}' needs the field '{}'", name_, field);
}

Json parse_object(const char* text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    fail(Code::kInvalidArgument, "the request is no JSON: {}", error.what());
  }
  if (!json.is_object()) {
    fail(Code::kInvalidArgument, "the request is {}; it takes an object", found(json));
  }
  return json;
}

Json fields_json(std::span<const Field> fields) {
  Json rows = Json::array();
  for (const Field& field : fields) {
    rows.push_back({{"name", field.name}, {"type", type_name(field.type)}, {"help", field.help}});
  }
  return rows;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace kw::capi
