// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/roofline.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "kernelwright/suite/buffer_sets.hpp"

namespace kw::suite {
namespace {

constexpr double kHotSlower = 1.05, kGraphSlower = 1.2;

void set_flag(std::vector<std::string>& flags, std::string_view flag, bool on) {
  std::erase(flags, flag);
  if (on) flags.emplace_back(flag);
}

bool is_device_or_wall(const Timing& timing) {
  return timing.protocol != "call" && timing.protocol != "host_enqueue";
}

// Median of `protocol`, or 0.
double median_ns(const BenchRow& row, std::string_view protocol) {
  const Timing* timing = find_timing(row, protocol);
  return timing == nullptr ? 0 : timing->nanoseconds.median;
}

// "not_cold": between two uses of a set less than kColdFactor caches were touched.
void flag_timings(BenchRow& row, double cache_bytes) {
  for (Timing& timing : row.timings) {
    const bool rotates = timing.protocol.ends_with("_cold") && timing.protocol != "device_cold";
    set_flag(timing.flags, "not_cold",
             rotates && timing.working_set_bytes < kColdFactor * cache_bytes);
    set_flag(timing.flags, reason_name(Reason::kBelowFloor),
             is_device_or_wall(timing) && timing.floor_ns > 0 &&
                 timing.nanoseconds.median < kFloors * timing.floor_ns);
  }
}

}  // namespace

const Timing* find_timing(const BenchRow& row, std::string_view protocol) noexcept {
  const auto it = std::find_if(row.timings.begin(), row.timings.end(),
                               [&](const Timing& timing) { return timing.protocol == protocol; });
  return it == row.timings.end() ? nullptr : &*it;
}

const Timing* cold_timing(const BenchRow& row) noexcept {
  for (const char* protocol :
       {"graph_cold", "wall_cold", "device_cold", "eager_cold", "wall_sync"}) {
    if (const Timing* timing = find_timing(row, protocol)) return timing;
  }
  return nullptr;
}

void add_roofline(BenchRow& row, const Roof& roof, const Hardware& hardware) {
  flag_timings(row, static_cast<double>(hardware.last_level_cache_bytes));
  const Timing* cold = cold_timing(row);
  if (cold == nullptr || cold->nanoseconds.median <= 0) return;
  const double ns = cold->nanoseconds.median;
  row.gigabytes_per_second = row.bytes / ns;
  row.roof_share = row.gigabytes_per_second / roof.gigabytes_per_second;
  row.teraflops_per_second = row.flops / ns * 1e-3;
  row.intensity = row.bytes > 0 ? row.flops / row.bytes : 0;
  const double memory_ns = row.bytes / roof.gigabytes_per_second;
  row.limiter = memory_ns >= cold->floor_ns ? "memory" : "latency";
  row.roof_us = std::max(memory_ns, cold->floor_ns) * 1e-3;
  row.speed_of_light = row.roof_us * 1e3 / ns;

  row.flags.clear();
  for (const Timing& timing : row.timings) {
    for (const std::string& flag : timing.flags) {
      const bool of_one_figure = flag == "not_cold" || flag == reason_name(Reason::kBelowFloor);
      if (!of_one_figure || &timing == cold) set_flag(row.flags, flag, true);
    }
  }
  const auto slower = [&](std::string_view one, std::string_view other, double times) {
    const double base = median_ns(row, other);
    return base > 0 && median_ns(row, one) > times * base;
  };
  set_flag(
      row.flags, "hot_slower_than_cold",
      slower("graph_hot", "graph_cold", kHotSlower) || slower("wall_hot", "wall_cold", kHotSlower));
  set_flag(row.flags, "graph_slower_than_eager", slower("graph_cold", "eager_cold", kGraphSlower));
}

bool is_implausible(const BenchRow& row, const Roof& roof) noexcept {
  const Timing* cold = cold_timing(row);
  return cold != nullptr && !cold->has("not_cold") && cold->protocol != "wall_sync" &&
         row.gigabytes_per_second > kImplausible * roof.fastest();
}

std::string implausible_text(const BenchRow& row, const Roof& roof) {
  return fmt::format(
      "{:.1f} GB/s cold, where the fastest of copy, read and write reached {:.1f} GB/s: the call "
      "skips work, or its bytes are counted wrong",
      row.gigabytes_per_second, roof.fastest());
}

}  // namespace kw::suite
