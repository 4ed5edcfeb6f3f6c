// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/suite_yaml.hpp"

#include <algorithm>
#include <map>

#include <yaml-cpp/yaml.h>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"

namespace kw::suite {
namespace {

constexpr std::string_view kForm =
    "a suite is written as\n"
    "  <operation>:\n"
    "    smoke:\n"
    "      - <operation>/<variant> <parameter>=<value> ...";

const std::vector<std::string>& batch_names() {
  static const std::vector<std::string> names{"smoke", "ci", "full", "bench"};
  return names;
}

int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}

  YAML::Node document(std::string_view yaml) const {
    try {
      return YAML::Load(std::string(yaml));
    } catch (const YAML::ParserException& error) {
      fail(Code::kInvalidArgument, "{}:{}: not YAML: {}", name_, error.mark.line + 1, error.msg);
    }
  }

  // Calls visit(key, value) for every entry of a map whose keys are among `known`, each once.
  template <typename Visit>
  void each(const YAML::Node& map, std::string_view what, const std::vector<std::string>& known,
            Visit visit) const {
    if (!map.IsMap()) {
      fail(Code::kInvalidArgument, "{}:{}: expected {}s with a map each; {}", name_, line_of(map),
           what, kForm);
    }
    std::map<std::string, int> lines;
    for (const auto& entry : map) {
      const int line = line_of(entry.first);
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        fail(Code::kInvalidArgument, "{}:{}: {}", name_, line,
             unknown_name_message(what, key, known));
      }
      if (const auto [first, is_new] = lines.emplace(key, line); !is_new) {
        fail(Code::kInvalidArgument, "{}:{}: {} '{}' appears a second time (first in line {})",
             name_, line, what, key, first->second);
      }
      visit(key, entry.second);
    }
  }

  std::vector<std::string> problems(const YAML::Node& list, const std::string& operation) const {
    if (!list.IsSequence()) {
      fail(Code::kInvalidArgument, "{}:{}: expected a list of problems of '{}'; {}", name_,
           line_of(list), operation, kForm);
    }
    std::vector<std::string> problems;
    for (const YAML::Node& item : list) {
      const std::string text = item.IsScalar() ? item.Scalar() : "";
      if (!text.starts_with(operation + "/")) {
        fail(Code::kInvalidArgument,
             "{}:{}: expected a problem of '{}', as in '{}/<variant> <parameter>=<value>'; this is "
             "'{}' (quote a text that YAML reads otherwise)",
             name_, line_of(item), operation, operation, text);
      }
      problems.push_back(text);
    }
    return problems;
  }

  SuiteSpec suite(const std::string& operation, const YAML::Node& batches) const {
    SuiteSpec spec{operation, {}};
    each(batches, "batch", batch_names(), [&](const std::string& batch, const YAML::Node& list) {
      spec.batches.push_back({batch, problems(list, operation)});
    });
    return spec;
  }

 private:
  std::string_view name_;
};

}  // namespace

std::vector<SuiteSpec> parse_suites(std::string_view yaml, std::string_view name,
                                    const std::vector<std::string>& operations) {
  const Reader reader(name);
  std::vector<SuiteSpec> suites;
  reader.each(reader.document(yaml), "operation", operations,
              [&](const std::string& operation, const YAML::Node& batches) {
                suites.push_back(reader.suite(operation, batches));
              });
  return suites;
}

std::vector<std::string> parse_batch_file(std::string_view yaml, std::string_view name,
                                          const std::string& operation) {
  const Reader reader(name);
  const YAML::Node document = reader.document(yaml);
  if (!document.IsMap()) return reader.problems(document, operation);
  std::vector<std::string> operations, problems;
  for (const auto& entry : document) operations.push_back(entry.first.as<std::string>(""));
  for (const SuiteSpec& suite : parse_suites(yaml, name, operations)) {
    if (suite.operation != operation) continue;
    for (const SuiteBatch& batch : suite.batches)
      problems.insert(problems.end(), batch.problems.begin(), batch.problems.end());
  }
  return problems;
}

}  // namespace kw::suite
