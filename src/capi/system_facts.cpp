// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/capi/system_facts.hpp"

#include <link.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

namespace kw::capi {
namespace {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::vector<CacheFact> processor_caches() {
  const std::filesystem::path root = "/sys/devices/system/cpu/cpu0/cache";
  std::vector<CacheFact> caches;
  for (int i = 0;; ++i) {
    const std::filesystem::path folder = root / fmt::format("index{}", i);
    const std::string level = first_line(folder / "level");
    if (level.empty()) return caches;
    const std::string type = first_line(folder / "type");
    const std::string kind = type == "Data" ? " data" : type == "Instruction" ? " instruction" : "";
    caches.push_back({fmt::format("L{}{}", level, kind), first_line(folder / "size"),
                      first_line(folder / "shared_cpu_list")});
  }
}

std::vector<std::string> loaded_libraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        // The program has no name, the kernel's object no path.
        const std::string name = info->dlpi_name;
        if (name.find('/') == std::string::npos) return 0;
        std::error_code failed;
        const auto path = std::filesystem::canonical(name, failed);
        static_cast<std::vector<std::string>*>(data)->push_back(failed ? name : path.string());
        return 0;
      },
      &paths);
  return paths;
}

}  // namespace kw::capi
