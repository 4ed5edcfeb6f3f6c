// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/core.h>

#include "kernelwright/suite/drawing.hpp"
#include "kernelwright/suite/report_page.hpp"

namespace kw::suite {
namespace {

constexpr std::array<const char*, 6> kStatuses{"passed",     "failed",         "error",
                                               "mistrusted", "not_applicable", "skipped"};

// Error over its limit, of the whole tensor or of the worst row, whichever comes closer.
double share_of_limit(const Json& output) {
  const double limit = number_at(output, "tensor_limit");
  const double tensor = limit > 0 ? number_at(output, "tensor_nrmse") / limit : 0;
  const double margin = number_at(output, "row_margin");
  return std::max(tensor, margin > 0 ? 1 / margin : 0);
}

// The dtype of the first tensor in a problem's text: "bf16" of "... x=bf16[4,64]".
std::string dtype_of(const std::string& problem) {
  const std::size_t end = problem.find('[');
  const std::size_t begin = problem.rfind('=', end);
  return end == std::string::npos || begin == std::string::npos
             ? ""
             : problem.substr(begin + 1, end - begin - 1);
}

Section by_implementation(const Json& cases) {
  struct Row {
    std::map<std::string, int> counts;
    double seconds = 0;
  };
  std::map<std::pair<std::string, std::string>, Row> rows;
  for (const Json& entry : cases) {
    Row& row = rows[{text_at(entry, "operation"), text_at(entry, "implementation")}];
    ++row.counts[text_at(entry, "status")];
    row.seconds += number_at(entry, "seconds");
  }
  PageTable table{{"operation", "implementation", ">passed", ">failed", ">errors", ">mistrusted",
                   ">not applicable", ">skipped", ">seconds"},
                  {}};
  for (const auto& [key, row] : rows) {
    std::vector<PageCell> cells{{key.first}, {key.second}};
    for (const std::string status : kStatuses) {
      const auto it = row.counts.find(status);
      const int number = it == row.counts.end() ? 0 : it->second;
      const bool bad = status == "failed" || status == "error" || status == "mistrusted";
      const Tone tone = number == 0          ? Tone::kFaint
                        : bad                ? Tone::kBad
                        : status == "passed" ? Tone::kGood
                                             : Tone::kPlain;
      cells.push_back({std::to_string(number), tone});
    }
    cells.push_back({fmt::format("{:.1f}", row.seconds)});
    table.rows.push_back(std::move(cells));
  }
  return {"By implementation", {std::move(table)}};
}

// Worst figures over the passed cases of one implementation, variant and output.
struct Worst {
  int cases = 0;
  double nrmse = 0, share_of_limit = 0, max_ulps = 0, exact_share = 1, trust = 0;
};

Section worst_passed(const Json& cases) {
  std::map<std::array<std::string, 3>, Worst> rows;
  for (const Json& entry : cases) {
    if (text_at(entry, "status") != "passed") continue;
    for (const Json& output : entry.at("numerics")) {
      Worst& w = rows[{text_at(entry, "implementation"), text_at(entry, "variant"),
                       text_at(output, "output")}];
      ++w.cases;
      const double limit = number_at(output, "tensor_limit");
      const double nrmse = number_at(output, "tensor_nrmse");
      if (limit > 0 && nrmse / limit > w.share_of_limit) {
        w.share_of_limit = nrmse / limit;
        w.nrmse = nrmse;
      }
      w.max_ulps = std::max(w.max_ulps, number_at(output, "max_ulps"));
      w.exact_share = std::min(w.exact_share, number_at(output, "frac_exact"));
      const double trust = number_at(output, "trust");
      if (trust > 0) w.trust = w.trust == 0 ? trust : std::min(w.trust, trust);
    }
  }
  Section section{"Errors", {}};
  if (rows.empty()) return section;
  section.blocks.emplace_back(
      Paragraph{"Worst passed case per output; error and limit are those of the whole tensor."});
  PageTable table{{"implementation", "variant", "output", ">cases", ">error", ">of limit",
                   ">max ulp", ">correctly rounded", ">trust"},
                  {}};
  for (const auto& [key, w] : rows) {
    table.rows.push_back({{key[0]},
                          {key[1]},
                          {key[2]},
                          {std::to_string(w.cases)},
                          {fmt::format("{:.3g}", w.nrmse)},
                          {fmt::format("{:.0f} %", 100 * w.share_of_limit)},
                          {fmt::format("{:.3g}", w.max_ulps)},
                          {fmt::format("{:.4f}", w.exact_share)},
                          {fmt::format("{:.3g}", w.trust)}});
  }
  section.blocks.emplace_back(std::move(table));
  return section;
}

std::vector<HeatRow> heat_rows(const std::map<std::string, std::vector<double>>& amounts) {
  std::vector<HeatRow> rows;
  for (const auto& [label, values] : amounts) rows.push_back({label, values});
  return rows;
}

Section histograms(const Json& cases) {
  const std::vector<std::string> ulps{"0", "1", "2", "3-4", "5-8", "9-16", "more", "wrong sign"};
  const std::vector<std::string> shares{"0-20 %",  "20-40 %",  "40-60 %",
                                        "60-80 %", "80-100 %", "above it"};
  std::map<std::string, std::vector<double>> by_ulps, by_share;
  for (const Json& entry : cases) {
    for (const Json& output : entry.at("numerics")) {
      const std::string label =
          fmt::format("{} {} {}", text_at(entry, "implementation"), text_at(entry, "variant"),
                      dtype_of(text_at(entry, "problem")));
      std::vector<double>& bins = by_ulps[label + " " + text_at(output, "output")];
      bins.resize(ulps.size());
      const Json& histogram = output.at("ulp_histogram");
      for (std::size_t i = 0; i < bins.size() && i < histogram.size(); ++i)
        bins[i] += histogram[i].get<double>();
      std::vector<double>& cells = by_share[label];
      cells.resize(shares.size());
      const double share = share_of_limit(output);
      cells[share < 1 ? static_cast<std::size_t>(5 * share) : 5] += 1;
    }
  }
  Section section{"Histograms", {}, false, true};
  if (by_ulps.empty()) return section;
  section.blocks.emplace_back(
      Drawing{"Distance from the correctly rounded result in units of the last place: share of all "
              "elements, by implementation, variant, dtype and output.",
              draw_heat_map(ulps, heat_rows(by_ulps))});
  section.blocks.emplace_back(Drawing{
      "How much of its limit the error of an output takes, of the whole tensor or its worst "
      "row: share of outputs.",
      draw_heat_map(shares, heat_rows(by_share))});
  return section;
}

Section coverage_section(const Json& document) {
  Section section{"Coverage", {}};
  PageTable targets{{"implementation", ">cases", ">judged", ">outside the domain", ">of allowed",
                     "not applicable because"},
                    {}};
  for (const Json& target : document.value("coverage", Json::array())) {
    std::string reasons;
    for (const auto& [reason, cases] : target.at("na_by_reason").items())
      reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", reason, value_text(cases));
    const bool exceeds = !text_at(target, "limit_message").empty();
    targets.rows.push_back({{text_at(target, "implementation")},
                            {value_text(target.at("cases"))},
                            {value_text(target.at("judged"))},
                            {fmt::format("{:.0f} %", 100 * number_at(target, "excluded_share")),
                             exceeds ? Tone::kBad : Tone::kPlain},
                            {fmt::format("{:.0f} %", 100 * number_at(target, "excluded_limit"))},
                            {reasons}});
  }
  section.blocks.emplace_back(std::move(targets));
  PageTable axes{{"implementation", "axis", "cases by value"}, {}};
  for (const Json& target : document.value("coverage", Json::array())) {
    for (const auto& [axis, values] : target.at("axes").items()) {
      std::string text;
      for (const auto& [value, cases] : values.items())
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", value, value_text(cases));
      axes.rows.push_back({{text_at(target, "implementation")}, {axis}, {text}});
    }
  }
  section.blocks.emplace_back(std::move(axes));
  return section;
}

Section all_cases(const Json& cases) {
  PageTable table{
      {"status", "implementation", "fill", ">of limit", ">max ulp", ">ms", "problem", "because"},
      {}};
  for (const Json& entry : cases) {
    double share = 0, ulps = 0;
    for (const Json& output : entry.at("numerics")) {
      share = std::max(share, share_of_limit(output));
      ulps = std::max(ulps, number_at(output, "max_ulps"));
    }
    const bool judged = !entry.at("numerics").empty();
    const std::string status = text_at(entry, "status");
    const Tone tone = status == "passed"                                  ? Tone::kGood
                      : status == "not_applicable" || status == "skipped" ? Tone::kFaint
                                                                          : Tone::kBad;
    const Json reason = entry.value("reason", Json::object());
    table.rows.push_back({{status, tone},
                          {text_at(entry, "implementation")},
                          {text_at(entry, "fill")},
                          {judged ? fmt::format("{:.0f} %", 100 * share) : "-"},
                          {judged ? fmt::format("{:.3g}", ulps) : "-"},
                          {fmt::format("{:.1f}", 1e3 * number_at(entry, "seconds"))},
                          {text_at(entry, "problem"), Tone::kPlain, true},
                          {text_at(reason, "message")}});
  }
  return {"All cases", {std::move(table)}, true, true};
}

}  // namespace

std::vector<Section> numerics_sections(const Json& document) {
  const Json& cases = document.at("cases");
  return {by_implementation(cases), worst_passed(cases), histograms(cases),
          coverage_section(document), all_cases(cases)};
}

}  // namespace kw::suite
