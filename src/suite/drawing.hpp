// SPDX-License-Identifier: Apache-2.0
// Private: SVG drawings of reports. Colours are the variables of page_html.cpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kw::suite {

// One row of squares each; the shade is the share of the row's sum, on a logarithmic scale.
struct HeatRow {
  std::string label;
  std::vector<double> amounts;  // as many as there are columns
};
std::string draw_heat_map(const std::vector<std::string>& columns,
                          const std::vector<HeatRow>& rows);

// Samples in the order in which they were taken, with their median as a line. Small: for a cell.
std::string draw_strip(const std::vector<double>& samples, double median);

// Bandwidth over arithmetic intensity, both logarithmic, below the roofs that were measured.
struct RooflinePoint {
  double flops_per_byte = 0, gigabytes_per_second = 0;
  std::string series, label;  // series: one colour; label: on hovering
};
struct RooflineRoof {
  std::string name;
  double gigabytes_per_second = 0;  // of memory; 0: a roof of arithmetic
  double gigaflops = 0;
};
std::string draw_roofline(const std::vector<RooflinePoint>& points,
                          const std::vector<RooflineRoof>& roofs);

}  // namespace kw::suite
