// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/backend/cuda/cuda_architectures.hpp"

#include <algorithm>
#include <iterator>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"

namespace kw::runtime {
namespace {

struct Architecture {
  const char* name;
  int capability;
  int multiprocessors;
  std::int64_t l2_mebibytes;
};

constexpr Architecture kArchitectures[] = {
    {"sm_80", 80, 108, 40},      // A100
    {"sm_90a", 90, 132, 60},     // H200
    {"sm_100a", 100, 148, 126},  // B200
    {"sm_120a", 120, 188, 128},  // RTX PRO 6000
};

}  // namespace

std::vector<std::string> cuda_architectures() {
  std::vector<std::string> names;
  for (const Architecture& each : kArchitectures) names.emplace_back(each.name);
  return names;
}

Hardware cuda_hardware(std::string_view architecture) {
  const auto found =
      std::find_if(std::begin(kArchitectures), std::end(kArchitectures),
                   [&](const Architecture& each) { return each.name == architecture; });
  if (found == std::end(kArchitectures)) {
    fail_text(Code::kNotFound,
              unknown_name_message("architecture", architecture, cuda_architectures()));
  }
  Hardware hardware;
  hardware.kind = DeviceKind::kCuda;
  hardware.index = -1;
  hardware.model = fmt::format("a device of {}", found->name);
  hardware.capability = found->capability;
  hardware.units = found->multiprocessors;
  hardware.last_level_cache_bytes = found->l2_mebibytes << 20;
  hardware.features = cuda_features(found->capability);
  return hardware;
}

std::vector<std::string> cuda_features(int capability) {
  if (capability < 90) return {};
  return {"bulk_copies", "clusters"};
}

}  // namespace kw::runtime
