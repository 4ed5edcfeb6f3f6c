// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "kernelwright/suite/page.hpp"

namespace kw::suite {
namespace {

// Colours are named once for light and once for dark; drawings use the same names.
constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --page: #fff; --text: #1c2024; --faint: #667079; --line: #dde2e6;
  --panel: #f5f7f8; --good: #14713d; --bad: #b3261e; --good-panel: #e7f4ec; --bad-panel: #fcebea;
  --mark: #1f6feb;
  --s0: #1f6feb; --s1: #c2571a; --s2: #14713d; --s3: #8a3ffc; --s4: #9f1853; --s5: #00707f; }
@media (prefers-color-scheme: dark) { :root { --page: #14171a; --text: #e3e7ea; --faint: #98a2ab;
  --line: #2c3238; --panel: #1c2125; --good: #5fd08d; --bad: #ff8a80; --good-panel: #16301f;
  --bad-panel: #3a1a18; --mark: #6ea8ff;
  --s0: #6ea8ff; --s1: #ff9d5c; --s2: #5fd08d; --s3: #be95ff; --s4: #ff7eb6; --s5: #3ddbd9; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 88rem; background: var(--page);
  color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; }
.verdict { padding: .6rem .9rem; border-radius: .4rem; background: var(--panel); margin: 0; }
.verdict.good { background: var(--good-panel); } .verdict.bad { background: var(--bad-panel); }
.good { color: var(--good); } .bad { color: var(--bad); } .faint { color: var(--faint); }
.wide { overflow-x: auto; margin: .6rem 0 1rem; }
table { border-collapse: collapse; font-size: .86rem; }
th { text-align: left; font-weight: 600; color: var(--faint); }
th, td { padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; white-space: nowrap; }
td.long { white-space: normal; overflow-wrap: anywhere; min-width: 16rem; }
.right { text-align: right; font-variant-numeric: tabular-nums; }
code, pre { font: .82rem/1.45 ui-monospace, Menlo, Consolas, monospace; }
pre { background: var(--panel); padding: .5rem .7rem; border-radius: .3rem; overflow-x: auto;
  margin: .3rem 0 1rem; }
.finding { border-left: 3px solid var(--bad); padding-left: .8rem; margin-bottom: 1rem; }
.finding p { margin: 0; overflow-wrap: anywhere; }
details > summary { cursor: pointer; font-size: 1.1rem; font-weight: 600; margin: 2rem 0 .6rem; }
figure { margin: .6rem 0 1.2rem; } figcaption { color: var(--faint); font-size: .86rem;
  margin-bottom: .4rem; max-width: 60rem; }
svg { max-width: 100%; height: auto; display: block; }
svg text { fill: var(--text); font: 12px system-ui, sans-serif; }
svg text.faint { fill: var(--faint); } svg .line { stroke: var(--line); fill: none; }
)css";

constexpr std::size_t kLongCell = 40;  // from here on a cell may break over lines

const char* tone_class(Tone tone) noexcept {
  switch (tone) {
    case Tone::kGood:
      return "good";
    case Tone::kBad:
      return "bad";
    case Tone::kFaint:
      return "faint";
    default:
      return "";
  }
}

std::string cell_html(const PageCell& cell, bool right) {
  std::string classes = tone_class(cell.tone);
  if (right) classes += " right";
  if (cell.text.size() > kLongCell) classes += " long";
  std::string body = cell.drawing.empty() ? html_text(cell.text) : cell.drawing;
  if (cell.is_code && !cell.text.empty()) body = "<code>" + body + "</code>";
  return classes.empty() ? fmt::format("<td>{}</td>", body)
                         : fmt::format("<td class=\"{}\">{}</td>", classes, body);
}

std::string block_html(const Paragraph& paragraph) {
  return fmt::format("<p class=\"{}\">{}</p>\n", tone_class(paragraph.tone),
                     html_text(paragraph.text));
}

std::string block_html(const PageTable& table) {
  if (table.rows.empty()) return {};
  std::string text = "<div class=\"wide\"><table>\n<tr>";
  for (const std::string& title : table.titles) {
    const bool right = title.starts_with('>');
    text += fmt::format("<th{}>{}</th>", right ? " class=\"right\"" : "",
                        html_text(title.substr(right ? 1 : 0)));
  }
  text += "</tr>\n";
  for (const auto& row : table.rows) {
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      text += cell_html(row[i], i < table.titles.size() && table.titles[i].starts_with('>'));
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string block_html(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format(
        "<div class=\"finding\"><p><strong class=\"bad\">{}</strong> <code>{}</code> {}</p>",
        html_text(finding.status), html_text(finding.code), html_text(finding.message));
    if (!finding.command.empty()) text += fmt::format("<pre>{}</pre>", html_text(finding.command));
    text += "</div>\n";
  }
  return text;
}

std::string block_html(const Drawing& drawing) {
  return fmt::format("<figure><figcaption>{}</figcaption>\n{}\n</figure>\n",
                     html_text(drawing.caption), drawing.svg);
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string page_html(const Page& page) {
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n"
      "<p class=\"verdict {2}\">{3}</p>\n",
      html_text(page.title), kStyle, tone_class(page.tone), html_text(page.verdict));
  for (const Section& section : page.sections) {
    std::string body;
    for (const PageBlock& block : section.blocks)
      body += std::visit([](const auto& each) { return block_html(each); }, block);
    if (body.empty()) continue;
    text += section.is_folded ? fmt::format("<details><summary>{}</summary>\n{}</details>\n",
                                            html_text(section.title), body)
                              : fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n",
                                            html_text(section.title), body);
  }
  return text + "</body>\n</html>\n";
}

}  // namespace kw::suite
