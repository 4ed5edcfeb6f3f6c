// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/settings_yaml.hpp"

#include <map>
#include <utility>

#include <yaml-cpp/yaml.h>

#include "kernelwright/base/fail.hpp"

namespace kw {
namespace {

constexpr std::string_view kExpected =
    "a configuration is written as\n"
    "  model:\n"
    "    ops_implementation:\n"
    "      <operation>_implementation: auto";

int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

std::string_view kind_of(const YAML::Node& node) {
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  return node.IsScalar() ? "a single value" : "empty";
}

class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}

  YAML::Node document(std::string_view yaml) const {
    try {
      std::vector<YAML::Node> documents = YAML::LoadAll(std::string(yaml));
      if (documents.size() > 1) {
        fail(Code::kInvalidArgument,
             "{}:{}: a second YAML document; one file holds one configuration", name_,
             line_of(documents[1]));
      }
      return documents.empty() ? YAML::Node() : documents[0];
    } catch (const YAML::ParserException& error) {
      fail(Code::kInvalidArgument, "{}:{}: not YAML: {}", name_, error.mark.line + 1, error.msg);
    }
  }

  // The value of `key`, and its line, 0 when there is none; yaml-cpp's own lookup would silently
  // take the first of two.
  std::pair<YAML::Node, int> find(const YAML::Node& parent, std::string_view path,
                                  const std::string& key) const {
    if (!parent.IsMap()) {
      fail(Code::kInvalidArgument, "{}: {} is {}, not a map with '{}'; {}", name_, path,
           kind_of(parent), key, kExpected);
    }
    YAML::Node found(YAML::NodeType::Undefined);
    int line = 0;
    for (const auto& entry : parent) {
      if (!entry.first.IsScalar() || entry.first.Scalar() != key) continue;
      if (line != 0) {
        fail(Code::kInvalidArgument, "{}:{}: '{}' appears a second time (first in line {})", name_,
             line_of(entry.first), key, line);
      }
      line = line_of(entry.first);
      found.reset(entry.second);
    }
    return {found, line};
  }

  YAML::Node child(const YAML::Node& parent, std::string_view path, const std::string& key) const {
    const auto [found, line] = find(parent, path, key);
    if (line == 0) {
      fail(Code::kInvalidArgument, "{}: {} has no '{}'; {}", name_, path, key, kExpected);
    }
    return found;
  }

  std::vector<YamlField> fields(const YAML::Node& section) const {
    if (!section.IsMap()) {
      fail(Code::kInvalidArgument, "{}: model.ops_implementation is {}, not a map of fields; {}",
           name_, kind_of(section), kExpected);
    }
    std::vector<YamlField> fields;
    std::map<std::string, int> lines;
    for (const auto& entry : section) {
      const int line = line_of(entry.first);
      if (!entry.first.IsScalar()) {
        fail(Code::kInvalidArgument, "{}:{}: a field name must be a string, this is {}", name_,
             line, kind_of(entry.first));
      }
      const std::string& key = entry.first.Scalar();
      if (const auto [first, is_new] = lines.emplace(key, line); !is_new) {
        fail(Code::kInvalidArgument, "{}:{}: field '{}' appears a second time (first in line {})",
             name_, line, key, first->second);
      }
      fields.push_back({key, values(key, line, entry.second), line});
    }
    return fields;
  }

  std::optional<YamlFlag> flag(const YAML::Node& parent, std::string_view path,
                               const std::string& key) const {
    const auto [node, line] = find(parent, path, key);
    if (line == 0) return std::nullopt;
    YamlFlag flag{false, line};
    if (!node.IsScalar() || !YAML::convert<bool>::decode(node, flag.value)) {
      const std::string found =
          node.IsScalar() ? fmt::format("'{}'", node.Scalar()) : std::string(kind_of(node));
      fail(Code::kInvalidArgument, "{}:{}: {}.{} is {}; write true or false", name_, flag.line,
           path, key, found);
    }
    return flag;
  }

 private:
  std::vector<std::string> values(const std::string& key, int line, const YAML::Node& node) const {
    std::vector<std::string> values;
    if (node.IsSequence()) {
      for (const YAML::Node& item : node)
        values.push_back(value(key, line, item, "an entry of the list"));
      if (values.empty()) {
        fail(Code::kInvalidArgument,
             "{}:{}: the list of field '{}' is empty; name at least one implementation, or write "
             "auto",
             name_, line, key);
      }
    } else {
      values.push_back(value(key, line, node, "the value"));
    }
    return values;
  }

  std::string value(const std::string& key, int line, const YAML::Node& node,
                    std::string_view part) const {
    if (!node.IsScalar() || node.Scalar().empty()) {
      fail(Code::kInvalidArgument,
           "{}:{}: {} of field '{}' is {}; expected a string such as auto, or a list of strings",
           name_, line, part, key, node.IsScalar() ? "empty" : kind_of(node));
    }
    return node.Scalar();
  }

  std::string_view name_;
};

}  // namespace

std::vector<YamlField> parse_ops_implementation(std::string_view yaml, std::string_view name) {
  const Reader reader(name);
  const YAML::Node model = reader.child(reader.document(yaml), "the file", "model");
  return reader.fields(reader.child(model, "model", "ops_implementation"));
}

std::optional<YamlFlag> parse_require_evidence(std::string_view yaml, std::string_view name) {
  const Reader reader(name);
  const YAML::Node model = reader.child(reader.document(yaml), "the file", "model");
  return reader.flag(model, "model", "require_evidence");
}

}  // namespace kw
