// SPDX-License-Identifier: Apache-2.0
// Private: what a report shows, apart from how: titles, tables, findings and drawings, which the
// writers of Markdown and HTML turn into text.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kw::suite {

enum class Tone { kPlain, kGood, kBad, kFaint };

struct PageCell {
  std::string text;
  Tone tone = Tone::kPlain;
  bool is_code = false;
  std::string drawing = {};  // SVG in place of the text; Markdown leaves it out
};

struct PageTable {
  std::vector<std::string> titles;  // with '>' before it: right-aligned
  std::vector<std::vector<PageCell>> rows;
};

struct Paragraph {
  std::string text;
  Tone tone = Tone::kPlain;
};

// Something wrong, and the line that shows it.
struct Finding {
  std::string status, code, message, command;
};
using Findings = std::vector<Finding>;

// Markdown leaves it out, with its caption.
struct Drawing {
  std::string caption, svg;
};

using PageBlock = std::variant<Paragraph, PageTable, Findings, Drawing>;

struct Section {
  std::string title;
  std::vector<PageBlock> blocks;
  bool is_folded = false;  // long, and rarely read
  bool only_html = false;
};

struct Page {
  std::string title, verdict;
  Tone tone = Tone::kPlain;
  std::vector<Section> sections;
};

std::string page_markdown(const Page& page);
// One file without scripts or links to others; light or dark as the reader's system is.
std::string page_html(const Page& page);

// `text` with the characters replaced that mean something in HTML, attributes included.
std::string html_text(std::string_view text);

}  // namespace kw::suite
