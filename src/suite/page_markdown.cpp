// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "kernelwright/suite/page.hpp"

namespace kw::suite {
namespace {

// A bar would end the cell.
std::string cell_text(const PageCell& cell) {
  std::string safe;
  for (const char c : cell.text) {
    if (c == '|')
      safe += "\\|";
    else
      safe += c == '\n' ? ' ' : c;
  }
  return cell.is_code && !safe.empty() ? "`" + safe + "`" : safe;
}

std::string block_text(const Paragraph& paragraph) { return paragraph.text + "\n\n"; }

std::string block_text(const PageTable& table) {
  if (table.rows.empty()) return {};
  std::string titles = "|", rule = "|", rows;
  for (const std::string& title : table.titles) {
    const bool right = title.starts_with('>');
    titles += ' ' + title.substr(right ? 1 : 0) + " |";
    rule += right ? "---:|" : "---|";
  }
  for (const auto& row : table.rows) {
    rows += '|';
    for (const PageCell& cell : row) rows += ' ' + cell_text(cell) + " |";
    rows += '\n';
  }
  return titles + '\n' + rule + '\n' + rows + '\n';
}

std::string block_text(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("- **{}** `{}` {}\n", finding.status, finding.code, finding.message);
    if (!finding.command.empty()) text += fmt::format("  `{}`\n", finding.command);
  }
  return text + '\n';
}

std::string block_text(const Drawing&) { return {}; }

}  // namespace

std::string page_markdown(const Page& page) {
  std::string text = fmt::format("# {}\n\n{}\n\n", page.title, page.verdict);
  for (const Section& section : page.sections) {
    if (section.only_html) continue;
    std::string body;
    for (const PageBlock& block : section.blocks)
      body += std::visit([](const auto& each) { return block_text(each); }, block);
    if (!body.empty()) text += fmt::format("## {}\n\n{}", section.title, body);
  }
  return text;
}

}  // namespace kw::suite
