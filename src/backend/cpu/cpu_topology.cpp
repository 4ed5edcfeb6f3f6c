// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/backend/cpu/cpu_topology.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>

#include "kernelwright/base/text.hpp"

namespace kw::runtime {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "36608K", "32M", "512".
std::int64_t parse_size(std::string_view text) {
  std::int64_t unit = 1;
  if (!text.empty() && text.back() == 'K') unit = std::int64_t{1} << 10;
  if (!text.empty() && text.back() == 'M') unit = std::int64_t{1} << 20;
  if (unit != 1) text.remove_suffix(1);
  return parse_integer(text).value_or(0) * unit;
}

struct FreeCpuSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

}  // namespace

int allowed_processors() {
  // The kernel refuses (EINVAL) a mask smaller than its own, of unknown size.
  for (int processors = 1024; processors <= (1 << 20); processors *= 2) {
    const std::unique_ptr<cpu_set_t, FreeCpuSet> set(CPU_ALLOC(processors));
    const std::size_t bytes = CPU_ALLOC_SIZE(processors);
    if (!set) break;
    if (sched_getaffinity(getpid(), bytes, set.get()) == 0) {
      return std::max(1, CPU_COUNT_S(bytes, set.get()));
    }
    if (errno != EINVAL) break;
  }
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

std::int64_t last_level_cache_bytes(const std::string& directory) {
  long long best_level = 0;
  std::int64_t bytes = 0;
  for (int index = 0;; ++index) {
    const std::string cache = directory + "/index" + std::to_string(index);
    const auto level = parse_integer(first_line(cache + "/level"));
    if (!level) break;
    if (*level <= best_level || first_line(cache + "/type") == "Instruction") continue;
    best_level = *level;
    bytes = parse_size(first_line(cache + "/size"));
  }
  if (bytes > 0) return bytes;
  return std::max({0L, sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE)});
}

MemoryInfo host_memory() {
  MemoryInfo info;
  std::ifstream file("/proc/meminfo");
  for (std::string name, unit; file >> name;) {
    std::int64_t kibibytes = 0;
    file >> kibibytes;
    std::getline(file, unit);
    if (name == "MemTotal:") info.total_bytes = kibibytes << 10;
    if (name == "MemAvailable:") info.free_bytes = kibibytes << 10;
  }
  return info;
}

}  // namespace kw::runtime
