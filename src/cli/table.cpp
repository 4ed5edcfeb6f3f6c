// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/cli/table.hpp"

#include <algorithm>

namespace kw::cli {
namespace {

std::size_t width_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// A message of several lines as one, its indentation closed up.
std::string on_one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; ++at) {
    const std::size_t end = text.find_first_not_of("\n ", at);
    text.replace(at, (end == std::string::npos ? text.size() : end) - at, " ");
  }
  return text;
}

}  // namespace

Table::Table(std::vector<std::string> titles) {
  for (std::string& title : titles) {
    const bool right = !title.empty() && title.front() == '>';
    columns_.push_back({right ? title.substr(1) : std::move(title), right});
  }
}

void Table::add(std::vector<Cell> row) {
  row.resize(columns_.size(), Cell(""));
  for (Cell& cell : row) cell.text = on_one_line(std::move(cell.text));
  rows_.push_back(std::move(row));
}

std::string Table::text(bool colour, std::size_t indent) const {
  std::vector<std::vector<Cell>> lines;
  const bool titled = std::any_of(columns_.begin(), columns_.end(),
                                  [](const Column& column) { return !column.title.empty(); });
  if (titled) {
    std::vector<Cell>& titles = lines.emplace_back();
    for (const Column& column : columns_) titles.emplace_back(column.title, Style::kFaint);
  }
  lines.insert(lines.end(), rows_.begin(), rows_.end());

  std::vector<std::size_t> widths(columns_.size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(line[i].text));
    }
  }

  std::string result;
  for (const auto& line : lines) {
    std::size_t last = line.size();
    while (last > 0 && line[last - 1].text.empty()) --last;
    result.append(indent, ' ');
    for (std::size_t i = 0; i < last; ++i) {
      const std::string shown = styled(line[i].text, line[i].style, colour);
      const std::size_t padding = widths[i] - width_of(line[i].text);
      if (columns_[i].right) result.append(padding, ' ');
      result += shown;
      if (i + 1 == last) break;
      result.append((columns_[i].right ? 0 : padding) + 2, ' ');
    }
    result += '\n';
  }
  return result;
}

}  // namespace kw::cli
