// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/capi/request.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"

namespace kw::capi {

Request::Request(const char* text) {
  if (text == nullptr) fail(Code::kInvalidArgument, "the request is null; pass a JSON object");
  try {
    json_ = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    fail(Code::kInvalidArgument, "the request is not JSON: {}", error.what());
  }
  if (!json_.is_object()) {
    fail(Code::kInvalidArgument, "the request is {}; pass a JSON object with \"command\"",
         json_.type_name());
  }
  const auto command = json_.find("command");
  if (command == json_.end()) fail(Code::kInvalidArgument, "the request has no \"command\"");
  if (!command->is_string()) wrong_type("command", *command, "a string");
  command_ = command->get<std::string>();
}

const nlohmann::json* Request::take(const std::string& field) {
  known_.push_back(field);
  const auto found = json_.find(field);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

void Request::wrong_type(const std::string& field, const nlohmann::json& found,
                         const char* wanted) const {
  fail(Code::kInvalidArgument, "{}: '{}' is {}; needed is {}",
       command_.empty() ? "request" : command_, field, found.type_name(), wanted);
}

std::optional<std::string> Request::text(const std::string& field) {
  const nlohmann::json* const value = take(field);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) wrong_type(field, *value, "a string");
  return value->get<std::string>();
}

std::optional<bool> Request::flag(const std::string& field) {
  const nlohmann::json* const value = take(field);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) wrong_type(field, *value, "true or false");
  return value->get<bool>();
}

std::optional<std::vector<std::string>> Request::texts(const std::string& field) {
  const nlohmann::json* const value = take(field);
  if (value == nullptr) return std::nullopt;
  const auto is_text = [](const nlohmann::json& item) { return item.is_string(); };
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_text)) {
    wrong_type(field, *value, "a list of strings");
  }
  return value->get<std::vector<std::string>>();
}

std::map<std::string, std::string> Request::words(const std::string& field) {
  const nlohmann::json* const value = take(field);
  std::map<std::string, std::string> words;
  if (value == nullptr) return words;
  if (!value->is_object()) wrong_type(field, *value, "an object");
  for (const auto& [name, word] : value->items()) {
    const auto is_text = [](const nlohmann::json& item) { return item.is_string(); };
    if (word.is_string()) {
      words[name] = word.get<std::string>();
    } else if (word.is_array() && std::all_of(word.begin(), word.end(), is_text)) {
      words[name] = "[" + join(word.get<std::vector<std::string>>()) + "]";
    } else {
      wrong_type(field + "." + name, word, "a string or a list of strings");
    }
  }
  return words;
}

void Request::refuse_the_rest() const {
  for (const auto& [field, value] : json_.items()) {
    if (std::find(known_.begin(), known_.end(), field) != known_.end()) continue;
    fail_text(Code::kNotFound, command_ + ": " + unknown_name_message("field", field, known_));
  }
}

}  // namespace kw::capi
