// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/buffer_sets.hpp"

#include <algorithm>

namespace kw::suite {
namespace {

constexpr std::int64_t kMaxSets = 4096;

}  // namespace

BufferSets::BufferSets(const Case& spec, std::int64_t count, const Platform& platform) {
  for (std::int64_t i = 0; i < count; ++i) {
    sets_.push_back(std::make_unique<PlacedTensors>(platform.device, spec.problem, spec.seed));
    PlacedTensors& set = *sets_.back();
    if (i == 0) fill_inputs(set, spec.problem, spec.fill, spec.seed, platform.catalog);
    for (std::size_t t = 0; t < set.operands().size(); ++t) {
      if (!set.operands()[t].is_read())
        set[t].poison(0);
      else if (i > 0)
        set[t].copy_elements((*sets_.front())[t]);
      set[t].upload(nullptr);
    }
    arguments_.push_back(make_arguments(spec.problem, set.views()));
  }
}

bool BufferSets::outputs_agree() {
  for (std::size_t i = 1; i < sets_.size(); ++i) {
    for (std::size_t t = 0; t < sets_[i]->operands().size(); ++t) {
      if (!sets_[i]->operands()[t].is_written()) continue;
      (*sets_[0])[t].download(nullptr);
      (*sets_[i])[t].download(nullptr);
      if ((*sets_[0])[t].element_bytes() != (*sets_[i])[t].element_bytes()) return false;
    }
  }
  return true;
}

std::int64_t cold_rotation(double bytes, double cache_bytes) noexcept {
  const double sets = kColdFactor * cache_bytes / std::max(bytes, 1.0);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(sets) + 2, 2, kMaxSets);
}

}  // namespace kw::suite
