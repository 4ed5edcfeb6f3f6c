// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "kernelwright/suite/report_page.hpp"

namespace kw::suite {
namespace {

constexpr std::array<std::string_view, 12> kCommon{
    "schema",   "kind",    "started",     "ended",    "seconds", "argv",
    "revision", "request", "environment", "metadata", "summary", "complete"};

// The scalars of an object and, as "outer.inner", those of the objects in it.
void flatten(const Json& object, const std::string& prefix,
             std::vector<std::pair<std::string, std::string>>& cells) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object())
      flatten(value, prefix + name + ".", cells);
    else
      cells.emplace_back(prefix + name, value_text(value));
  }
}

// A row per object, a column per field that any of them has.
PageTable rows_table(const Json& objects) {
  PageTable table;
  std::vector<std::vector<std::pair<std::string, std::string>>> rows;
  for (const Json& object : objects) {
    auto& cells = rows.emplace_back();
    if (object.is_object())
      flatten(object, "", cells);
    else
      cells.emplace_back("value", value_text(object));
    for (const auto& [name, value] : cells) {
      if (std::find(table.titles.begin(), table.titles.end(), name) == table.titles.end())
        table.titles.push_back(name);
    }
  }
  for (const auto& cells : rows) {
    auto& row = table.rows.emplace_back(table.titles.size());
    for (const auto& [name, value] : cells) {
      const auto column = std::find(table.titles.begin(), table.titles.end(), name);
      row[static_cast<std::size_t>(column - table.titles.begin())].text = value;
    }
  }
  return table;
}

}  // namespace

std::vector<Section> other_sections(const Json& document) {
  std::vector<Section> sections;
  for (const auto& [name, value] : document.items()) {
    if (std::find(kCommon.begin(), kCommon.end(), name) != kCommon.end()) continue;
    if (value.is_array() && !value.empty() && value.front().is_object()) {
      sections.push_back({name, {rows_table(value)}});
    } else if (value.is_object() && !value.empty()) {
      std::vector<std::pair<std::string, std::string>> cells;
      flatten(value, "", cells);
      PageTable table{{"", ""}, {}};
      for (const auto& [field, text] : cells) table.rows.push_back({{field}, {text}});
      sections.push_back({name, {std::move(table)}});
    } else if (!value.is_structured()) {
      sections.push_back({name, {Paragraph{value_text(value)}}});
    }
  }
  return sections;
}

}  // namespace kw::suite
