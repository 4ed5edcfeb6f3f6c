// SPDX-License-Identifier: Apache-2.0
// What a row's times say beside the measured roofs and floors: columns and flags.
#pragma once

#include "kernelwright/core/hardware.hpp"
#include "kernelwright/suite/report.hpp"

namespace kw::suite {

inline constexpr double kImplausible = 1.02;  // of the fastest measured roof
inline constexpr double kFloors = 3;          // times the floor, below which a time says little

// The figure that the columns are about: graph_cold, wall_cold, device_cold, or what there is of
// the others; null when nothing was timed but the host.
const Timing* cold_timing(const BenchRow& row) noexcept;
const Timing* find_timing(const BenchRow& row, std::string_view protocol) noexcept;

// Sets the columns and the flags anew, those of the timings included.
void add_roofline(BenchRow& row, const Roof& roof, const Hardware& hardware);

// Whether a row that is really cold moves its bytes faster than anything measured.
bool is_implausible(const BenchRow& row, const Roof& roof) noexcept;
std::string implausible_text(const BenchRow& row, const Roof& roof);

}  // namespace kw::suite
