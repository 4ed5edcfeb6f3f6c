// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "kernelwright/suite/report_page.hpp"
#include "kernelwright/suite/statistics.hpp"

namespace kw::suite {
namespace {

Tone tone_of(const std::string& verdict) {
  return verdict == "SLOWER" ? Tone::kBad : verdict == "FASTER" ? Tone::kGood : Tone::kPlain;
}

}  // namespace

std::vector<Section> compare_sections(const Json& document) {
  Section section{"Comparison", {}};
  const bool interleaved = document.at("interleaved").get<bool>();
  section.blocks.emplace_back(Paragraph{fmt::format(
      "A is {}, B is {}. The ratio is A's time by B's: above 1, B is faster. {}",
      text_at(document, "a"), text_at(document, "b"),
      interleaved ? "Blocks of both were interleaved in one process; intervals cover 99 %, and the "
                    "same is within delta."
                  : "Two runs: what is the same is wider than in one.")});
  PageTable table{
      {"verdict", ">ratio", ">99 %", ">delta", ">A", ">B", "protocol", "problem", "flags"}, {}};
  PageTable missing{{"status", "reason", "problem", "message"}, {}};
  for (const Json& row : document.at("comparisons")) {
    if (!row.contains("verdict")) {
      missing.rows.push_back({{text_at(row, "status"), Tone::kBad},
                              {text_at(row.at("reason"), "code")},
                              {text_at(row, "problem")},
                              {text_at(row.at("reason"), "message")}});
      continue;
    }
    const std::string verdict = text_at(row, "verdict");
    const Json& interval = row.at("ci99");
    table.rows.push_back({{verdict, tone_of(verdict)},
                          {fmt::format("{:.3f}", number_at(row, "ratio"))},
                          {value_text(interval.at(0)) + " - " + value_text(interval.at(1))},
                          {fmt::format("{:.1f} %", 100 * number_at(row, "delta"))},
                          {duration_text(number_at(row, "a_ns"))},
                          {duration_text(number_at(row, "b_ns"))},
                          {text_at(row, "protocol")},
                          {text_at(row, "problem")},
                          {joined(row.at("flags"))}});
  }
  section.blocks.emplace_back(std::move(table));
  std::vector<Section> sections{std::move(section)};
  if (!missing.rows.empty()) sections.push_back({"Not compared", {std::move(missing)}});
  return sections;
}

}  // namespace kw::suite
