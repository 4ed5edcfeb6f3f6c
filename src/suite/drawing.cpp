// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/drawing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/core.h>

#include "kernelwright/suite/page.hpp"

namespace kw::suite {
namespace {

constexpr double kCharacter = 6.6;  // width of a letter of the 12 px font, for room beside labels

double width_of(std::string_view text) { return kCharacter * static_cast<double>(text.size()); }

// 1 for everything, 0 for a millionth or nothing.
double shade_of(double share) {
  constexpr double kDecades = 6;
  return share <= 0 ? 0 : std::clamp(1 + std::log10(share) / kDecades, 0.04, 1.0);
}

std::string share_text(double share) {
  if (share <= 0) return "";
  if (share >= 0.9995) return "100 %";
  return share >= 0.001 ? fmt::format("{:.1f} %", 100 * share) : fmt::format("{:.0e}", share);
}

// A logarithmic axis over whole decades.
struct LogAxis {
  double low = 0, high = 1;  // exponents of ten
  double from = 0, to = 1;   // pixels

  LogAxis(double least, double most, double first_pixel, double last_pixel)
      : low(std::floor(std::log10(least))),
        high(std::max(std::ceil(std::log10(most)), low + 1)),
        from(first_pixel),
        to(last_pixel) {}
  double at(double value) const {
    return from + (std::log10(value) - low) / (high - low) * (to - from);
  }
};

std::string decade_text(double exponent) {
  return std::abs(exponent) <= 3 ? fmt::format("{:g}", std::pow(10.0, exponent))
                                 : fmt::format("1e{:.0f}", exponent);
}

}  // namespace

std::string draw_heat_map(const std::vector<std::string>& columns,
                          const std::vector<HeatRow>& rows) {
  constexpr double kCell = 68, kRow = 24, kTop = 22;
  double left = 0;
  for (const HeatRow& row : rows) left = std::max(left, width_of(row.label));
  left += 12;
  const double width = left + kCell * static_cast<double>(columns.size());
  const double height = kTop + kRow * static_cast<double>(rows.size());
  std::string svg = fmt::format(
      "<svg width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">",
      width, height);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    svg +=
        fmt::format("<text class=\"faint\" x=\"{:.0f}\" y=\"14\" text-anchor=\"middle\">{}</text>",
                    left + kCell * (static_cast<double>(c) + 0.5), html_text(columns[c]));
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double y = kTop + kRow * static_cast<double>(r);
    svg += fmt::format("<text x=\"0\" y=\"{:.0f}\">{}</text>", y + 16, html_text(rows[r].label));
    const double sum = std::accumulate(rows[r].amounts.begin(), rows[r].amounts.end(), 0.0);
    for (std::size_t c = 0; c < rows[r].amounts.size(); ++c) {
      const double x = left + kCell * static_cast<double>(c);
      const double share = sum > 0 ? rows[r].amounts[c] / sum : 0;
      // The text must be read on every shade, so the darkest is not opaque.
      svg += fmt::format(
          "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"2\" "
          "stroke=\"var(--line)\" fill=\"var(--mark)\" fill-opacity=\"{:.2f}\"/>",
          x + 1, y + 1, kCell - 2, kRow - 2, 0.6 * shade_of(share));
      svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>",
                         x + kCell / 2, y + 16, share_text(share));
    }
  }
  return svg + "</svg>";
}

std::string draw_strip(const std::vector<double>& samples, double median) {
  constexpr double kWidth = 180, kHeight = 26;
  constexpr std::size_t kMost = 400;  // dots; more would hide each other
  if (samples.empty()) return {};
  const auto [first, second] = std::minmax_element(samples.begin(), samples.end());
  const double least = *first, most = *second;
  // A single outlier must not flatten the rest: what is above twice the median sits on the edge.
  const double high = std::max(std::min(most, 2 * median), least);
  const double range = high > least ? high - least : 1;
  const auto y_of = [&](double value) {
    return kHeight - 3 - std::min((value - least) / range, 1.0) * (kHeight - 6);
  };
  std::string svg = fmt::format(
      "<svg width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">"
      "<path class=\"line\" d=\"M0 {2:.1f}H{0:.0f}\"/>",
      kWidth, kHeight, y_of(median));
  const std::size_t step = (samples.size() + kMost - 1) / kMost;
  for (std::size_t i = 0; i < samples.size(); i += step) {
    const double x = 2 + (kWidth - 4) * static_cast<double>(i) /
                             static_cast<double>(std::max<std::size_t>(samples.size() - 1, 1));
    const bool outside = samples[i] > high;
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"1.5\" fill=\"var(--{})\"/>", x,
                       y_of(samples[i]), outside ? "bad" : "mark");
  }
  return svg + "</svg>";
}

std::string draw_roofline(const std::vector<RooflinePoint>& points,
                          const std::vector<RooflineRoof>& roofs) {
  constexpr double kWidth = 760, kHeight = 360, kLeft = 60, kRight = 20, kTop = 20, kBottom = 46;
  constexpr int kColours = 6;
  if (points.empty()) return {};
  double x_least = points[0].flops_per_byte, x_most = x_least;
  double y_least = points[0].gigabytes_per_second, y_most = y_least;
  std::vector<std::string> series;
  for (const RooflinePoint& point : points) {
    x_least = std::min(x_least, point.flops_per_byte);
    x_most = std::max(x_most, point.flops_per_byte);
    y_least = std::min(y_least, point.gigabytes_per_second);
    y_most = std::max(y_most, point.gigabytes_per_second);
    if (std::find(series.begin(), series.end(), point.series) == series.end())
      series.push_back(point.series);
  }
  for (const RooflineRoof& roof : roofs) y_most = std::max(y_most, roof.gigabytes_per_second);
  const LogAxis x(x_least, x_most, kLeft, kWidth - kRight);
  const LogAxis y(y_least, y_most, kHeight - kBottom, kTop);
  const double legend = 20 * static_cast<double>(series.size()) + 6;
  std::string svg = fmt::format(
      "<svg width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">",
      kWidth, kHeight + legend);
  for (double e = x.low; e <= x.high; ++e) {
    const double at = x.at(std::pow(10.0, e));
    svg += fmt::format(
        "<path class=\"line\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/><text class=\"faint\" x=\"{0:.1f}\" "
        "y=\"{3:.1f}\" text-anchor=\"middle\">{4}</text>",
        at, kTop, kHeight - kBottom, kHeight - kBottom + 16, decade_text(e));
  }
  for (double e = y.low; e <= y.high; ++e) {
    const double at = y.at(std::pow(10.0, e));
    svg += fmt::format(
        "<path class=\"line\" d=\"M{1:.1f} {0:.1f}H{2:.1f}\"/><text class=\"faint\" x=\"{3:.1f}\" "
        "y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>",
        at, kLeft, kWidth - kRight, kLeft - 6, at + 4, decade_text(e));
  }
  svg += fmt::format(
      "<text class=\"faint\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">arithmetic "
      "intensity, "
      "flop/byte</text><text class=\"faint\" x=\"4\" y=\"12\">GB/s</text>",
      (kLeft + kWidth - kRight) / 2, kHeight - 10);
  const auto roof_line = [&](double x0, double y0, double x1, double y1, const std::string& name) {
    svg += fmt::format(
        "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"var(--text)\" stroke-width=\"1.5\" "
        "stroke-dasharray=\"6 3\"/><text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>",
        x0, y0, x1, y1, x1 - 4, std::max(y1 - 6, 11.0), html_text(name));
  };
  const double x_end = std::pow(10.0, x.high);
  for (const RooflineRoof& roof : roofs) {
    if (roof.gigabytes_per_second > 0) {
      const double at = y.at(roof.gigabytes_per_second);
      roof_line(kLeft, at, kWidth - kRight, at, roof.name);
    } else if (roof.gigaflops > 0) {
      // Bandwidth at which arithmetic ends it: GFLOP/s over flop/byte, inside the frame.
      const double begin = std::max(roof.gigaflops / std::pow(10.0, y.high), std::pow(10.0, x.low));
      const double end = std::min(roof.gigaflops / std::pow(10.0, y.low), x_end);
      if (begin < end)
        roof_line(x.at(begin), y.at(roof.gigaflops / begin), x.at(end), y.at(roof.gigaflops / end),
                  roof.name);
    }
  }
  const auto colour = [&](const std::string& name) {
    const auto at = std::find(series.begin(), series.end(), name) - series.begin();
    return static_cast<int>(at) % kColours;
  };
  for (const RooflinePoint& point : points) {
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"var(--s{})\" fill-opacity=\"0.75\">"
        "<title>{}</title></circle>",
        x.at(point.flops_per_byte), y.at(point.gigabytes_per_second), colour(point.series),
        html_text(point.label));
  }
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double at = kHeight + 10 + 20 * static_cast<double>(i);
    svg += fmt::format(
        "<circle cx=\"{:.0f}\" cy=\"{:.1f}\" r=\"5\" fill=\"var(--s{})\"/><text x=\"{:.0f}\" "
        "y=\"{:.1f}\">{}</text>",
        kLeft + 5, at - 4, colour(series[i]), kLeft + 18, at, html_text(series[i]));
  }
  return svg + "</svg>";
}

}  // namespace kw::suite
