// SPDX-License-Identifier: Apache-2.0
// Private: JSON requests, read against the one list of their fields.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernelwright/core/implementation.hpp"

namespace kw::capi {

using Json = nlohmann::ordered_json;

enum class Type {
  kText,
  kBool,
  kTexts,    // text, or a list of texts
  kTargets,  // an object: name -> text, or a list of texts
  kCfg,      // an object: field -> bool, integer, text or an object of these
};

struct Field {
  const char* name;
  Type type;
  const char* help;
};

// An object whose members are all of `fields`, each of its type.
class Request {
 public:
  // Throws Error(kNotFound | kInvalidArgument) naming request, field, what was found and wanted.
  Request(Json object, std::string_view name, std::span<const Field> fields);

  // A field that is null is absent.
  bool has(const char* field) const;
  // The field, or what an absent one means.
  std::string text(const char* field, std::string_view otherwise = {}) const;
  bool boolean(const char* field, bool otherwise) const;
  std::vector<std::string> texts(const char* field) const;
  // Lists as "[a, b]".
  std::map<std::string, std::string> targets(const char* field) const;
  CfgPins cfg(const char* field) const;
  // For fields that a request cannot do without.
  void require(const char* field) const;

  const std::string& name() const noexcept { return name_; }

 private:
  Json object_;
  std::string name_;
};

// An object out of text; throws Error(kInvalidArgument) for anything else.
Json parse_object(const char* text);
// The members of kw_request_schema's "fields".
Json fields_json(std::span<const Field> fields);

// JSON of any text: bytes that are no UTF-8 are replaced.
std::string dump(const Json& json);

}  // namespace kw::capi
