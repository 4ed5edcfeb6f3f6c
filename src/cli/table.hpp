// SPDX-License-Identifier: Apache-2.0
// Plain tables: columns as wide as their widest cell, two spaces apart, the last one ragged.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernelwright/cli/console.hpp"

namespace kw::cli {

struct Cell {
  std::string text;  // one line; UTF-8 counts a column per code point
  Style style = Style::kPlain;

  Cell(std::string content, Style look = Style::kPlain) : text(std::move(content)), style(look) {}
  Cell(std::string_view content, Style look = Style::kPlain) : text(content), style(look) {}
  Cell(const char* content, Style look = Style::kPlain) : text(content), style(look) {}
};

class Table {
 public:
  // A title that starts with '>' aligns its column to the right; all titles empty: no title line.
  explicit Table(std::vector<std::string> titles);

  // At most one cell per title; missing ones are empty.
  void add(std::vector<Cell> row);
  bool empty() const noexcept { return rows_.empty(); }
  // Every line indented by `indent` and ended by a line break. Line breaks within a cell become
  // spaces.
  std::string text(bool colour, std::size_t indent = 2) const;

 private:
  struct Column {
    std::string title;
    bool right;
  };
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace kw::cli
