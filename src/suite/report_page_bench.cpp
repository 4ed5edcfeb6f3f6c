// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "kernelwright/suite/drawing.hpp"
#include "kernelwright/suite/report_page.hpp"
#include "kernelwright/suite/statistics.hpp"

namespace kw::suite {
namespace {

std::string median_text(const Json& timing) {
  const Json& interval = timing.at("ci95");
  const double median = number_at(timing, "median");
  const double half = (interval.at(1).get<double>() - interval.at(0).get<double>()) / 2;
  return fmt::format("{} +-{:.1f} %", duration_text(median), median > 0 ? 100 * half / median : 0);
}

// Of the first of these protocols that was timed.
std::string timing_text(const Json& entry, std::initializer_list<std::string_view> protocols) {
  for (const std::string_view protocol : protocols) {
    for (const Json& timing : entry.at("benchmark")) {
      if (text_at(timing, "protocol") == protocol) return median_text(timing);
    }
  }
  return "-";
}

Section roofs_section(const Json& roofs, const Json& floors) {
  Section section{"Roofs", {}};
  section.blocks.emplace_back(
      Paragraph{"Measured first in this run, with the same threads. Bytes are the contract's "
                "minimum, read plus written."});
  for (const auto& [name, roof] : roofs.items()) {
    PageTable table = object_table(roof, name);
    section.blocks.emplace_back(std::move(table));
  }
  if (!floors.empty())
    section.blocks.emplace_back(object_table(floors, "floors in us, of an empty call"));
  return section;
}

Section timings(const Json& cases) {
  PageTable table{{"implementation", "problem", ">cold", ">hot", ">call", ">GB/s", ">of roof",
                   ">TFLOP/s", ">flop/B", "limiter", ">roof us", ">of light", "flags"},
                  {}};
  for (const Json& entry : cases) {
    if (entry.at("benchmark").empty()) continue;
    const Json& roofline = entry.at("roofline");
    std::string flags;
    for (const Json& flag : entry.at("flags"))
      flags += (flags.empty() ? "" : ", ") + value_text(flag);
    table.rows.push_back(
        {{text_at(entry, "implementation")},
         {text_at(entry, "problem")},
         {timing_text(entry, {"graph_cold", "wall_cold"})},
         {timing_text(entry, {"graph_hot", "wall_hot"})},
         {timing_text(entry, {"call"})},
         {fmt::format("{:.2f}", number_at(roofline, "gigabytes_per_second"))},
         {fmt::format("{:.0f} %", 100 * number_at(roofline, "share_of_copy_roof"))},
         {fmt::format("{:.3f}", number_at(roofline, "teraflops_per_second"))},
         {fmt::format("{:.2f}", number_at(roofline, "intensity"))},
         {text_at(roofline, "limiter")},
         {fmt::format("{:.2f}", number_at(roofline, "roof_us"))},
         {fmt::format("{:.0f} %", 100 * number_at(roofline, "speed_of_light"))},
         {flags, Tone::kBad}});
  }
  return {"Times", {std::move(table)}};
}

Section roofline(const Json& document) {
  std::vector<RooflinePoint> points;
  for (const Json& entry : document.at("cases")) {
    const Json& figures = entry.at("roofline");
    const double bytes = number_at(figures, "bytes"), flops = number_at(figures, "flops");
    const double rate = number_at(figures, "gigabytes_per_second");
    if (bytes <= 0 || flops <= 0 || rate <= 0) continue;
    points.push_back({flops / bytes, rate, text_at(entry, "implementation"),
                      fmt::format("{}: {:.2f} GB/s", text_at(entry, "problem"), rate)});
  }
  std::vector<RooflineRoof> roofs;
  for (const auto& [name, roof] : document.at("roofs").items()) {
    const double bandwidth = number_at(roof, "gigabytes_per_second");
    const double arithmetic = number_at(roof, "gigaflops");
    if (bandwidth > 0)
      roofs.push_back({fmt::format("{} {:.1f} GB/s", name, bandwidth), bandwidth, 0});
    else if (arithmetic > 0)
      roofs.push_back({fmt::format("{} {:.0f} GFLOP/s", name, arithmetic), 0, arithmetic});
  }
  Section section{"Roofline", {}, false, true};
  if (points.empty()) return section;
  section.blocks.emplace_back(Drawing{
      "Bandwidth of the cold figure over arithmetic intensity, both logarithmic; dashed: what "
      "this machine reached when asked for nothing else. Hover over a point for its problem.",
      draw_roofline(points, roofs)});
  return section;
}

Section samples(const Json& cases) {
  PageTable table{{"implementation", "problem", "protocol", ">median", ">samples", "stopped by",
                   "samples in order, least below"},
                  {}};
  for (const Json& entry : cases) {
    for (const Json& timing : entry.at("benchmark")) {
      table.rows.push_back(
          {{text_at(entry, "implementation")},
           {text_at(entry, "problem")},
           {text_at(timing, "protocol")},
           {median_text(timing)},
           {value_text(timing.at("samples"))},
           {text_at(timing, "stop_reason")},
           {"", Tone::kPlain, false,
            draw_strip(timing.at("raw").get<std::vector<double>>(), number_at(timing, "median"))}});
    }
  }
  return {"Samples", {std::move(table)}, false, true};
}

}  // namespace

std::vector<Section> bench_sections(const Json& document) {
  const Json& cases = document.at("cases");
  return {timings(cases), roofs_section(document.at("roofs"), document.at("floors_us")),
          roofline(document), samples(cases)};
}

}  // namespace kw::suite
