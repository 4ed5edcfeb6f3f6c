// SPDX-License-Identifier: Apache-2.0
// Private: the fields of one control request, each read once with the type it must have; what was
// not read is unknown.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace kw::capi {

class Request {
 public:
  // Throws Error(kInvalidArgument) unless `text` is a JSON object with a string "command".
  explicit Request(const char* text);

  const std::string& command() const noexcept { return command_; }

  // Each throws Error(kInvalidArgument) naming field, type found and type wanted.
  std::optional<std::string> text(const std::string& field);
  std::optional<bool> flag(const std::string& field);
  std::optional<std::vector<std::string>> texts(const std::string& field);
  // An object of strings; lists of strings become "[a, b]".
  std::map<std::string, std::string> words(const std::string& field);

  // Throws Error(kNotFound) with the nearest name when a field is there that no one read.
  void refuse_the_rest() const;

 private:
  const nlohmann::json* take(const std::string& field);
  [[noreturn]] void wrong_type(const std::string& field, const nlohmann::json& found,
                               const char* wanted) const;

  nlohmann::json json_;
  std::string command_;
  std::vector<std::string> known_{"command"};
};

}  // namespace kw::capi
