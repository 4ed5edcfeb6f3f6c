// SPDX-License-Identifier: Apache-2.0
// The tables of docs/selection.md are generated from the code and compared here; with
// UPDATE_DOCUMENTS=1 in the environment they are rewritten instead.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "kernelwright/base/text.hpp"
#include "kernelwright/core/settings.hpp"
#include "kernelwright/ops/known_values.hpp"

namespace kw {
namespace {

const std::filesystem::path kDocument =
    std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "docs" /
    "selection.md";

std::string code(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

std::string row(const std::vector<std::string>& cells) {
  return "| " + join(cells, " | ") + " |\n";
}

std::string header(const std::vector<std::string>& titles) {
  return row(titles) + row(std::vector<std::string>(titles.size(), "---"));
}

std::string precedence_table(const Catalog&) {
  const auto given = [](Source source) -> std::string {
    switch (source) {
      case Source::kEnvironment:
        return "`KW_OVERRIDE_<OPERATION>=value`, read once";
      case Source::kExplicit:
        return "an argument of `initialize`, a flag of `kw`";
      case Source::kFile:
        return "`model.ops_implementation.<field>` of a YAML file";
      case Source::kDefault:
        return "nothing: `auto`";
    }
    return "";
  };
  std::string table = header({"", "source", "given by"});
  for (int source = kNumSources - 1; source >= 0; --source) {
    const auto each = static_cast<Source>(source);
    table +=
        row({std::to_string(kNumSources - source), std::string(source_name(each)), given(each)});
  }
  return table;
}

std::string fields_table(const Catalog& catalog) {
  std::string table = header({"field", "operation", "default of its origin"});
  for (const KnownField& field : catalog.known_fields()) {
    std::string operation = code(field.operation);
    if (!field.variant.empty()) operation += ", variant " + code(field.variant);
    table += row({code(field.field), operation, code(field.shipped_default)});
  }
  return table;
}

std::string values_table(const Catalog& catalog) {
  std::string table = header({"field", "value", "runs on", "remedy"});
  for (const KnownValue& value : catalog.known_values()) {
    std::vector<std::string> kinds;
    for (const DeviceKind kind : value.devices) kinds.emplace_back(device_kind_name(kind));
    table += row({code(value.field), code(value.value) + (value.deprecated ? " (deprecated)" : ""),
                  kinds.empty() ? "any device" : join(kinds), value.remedy});
  }
  return table;
}

std::string meanings_table(const Catalog& catalog) {
  std::string table = header({"field", "value", "on", "means", "for"});
  for (const KnownValue& value : catalog.known_values()) {
    for (const auto& [kind, meaning] : value.normalises_to) {
      table += row({code(value.field), code(value.value), std::string(device_kind_name(kind)),
                    code(meaning.empty() ? "auto" : meaning),
                    value.deprecated ? "every source, with a warning" : "a file, with a warning"});
    }
  }
  return table;
}

struct Block {
  const char* name;
  std::string (*render)(const Catalog&);
};
constexpr Block kBlocks[] = {{"precedence", precedence_table},
                             {"fields", fields_table},
                             {"values", values_table},
                             {"meanings", meanings_table}};

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(SelectionDocument, TablesAreThoseOfTheCode) {
  Catalog catalog;
  ops::add_known_values(catalog);
  std::string document = read(kDocument);
  ASSERT_FALSE(document.empty()) << kDocument;
  const bool is_update = std::getenv("UPDATE_DOCUMENTS") != nullptr;
  for (const Block& block : kBlocks) {
    const std::string begin = std::string("<!-- generated: ") + block.name + " -->\n";
    const std::string end = "<!-- end generated -->";
    const std::size_t at = document.find(begin);
    ASSERT_NE(at, std::string::npos) << "no block '" << block.name << "' in " << kDocument;
    const std::size_t first = at + begin.size(), last = document.find(end, first);
    ASSERT_NE(last, std::string::npos) << "block '" << block.name << "' does not end";
    const std::string table = block.render(catalog);
    if (is_update) {
      document.replace(first, last - first, table);
    } else {
      EXPECT_EQ(document.substr(first, last - first), table)
          << "docs/selection.md is out of date; run this test with UPDATE_DOCUMENTS=1";
    }
  }
  if (is_update) std::ofstream(kDocument) << document;
}

}  // namespace
}  // namespace kw
