// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/buffer_sets.hpp"

#include <algorithm>

#include "kernelwright/suite/device_inputs.hpp"

namespace kw::suite {
namespace {

constexpr std::int64_t kMaxSets = 4096;

}  // namespace

BufferSets::BufferSets(const Case& spec, std::int64_t count, const Platform& platform)
    : device_(platform.device), kernels_(platform.kernels.get()) {
  for (std::int64_t i = 0; i < count; ++i) {
    sets_.push_back(std::make_unique<PlacedTensors>(device_, spec.problem, spec.seed));
    PlacedTensors& set = *sets_.back();
    arguments_.push_back(make_arguments(spec.problem, set.views()));
    if (i == 0) {
      fill(set, spec, platform.catalog);
      continue;
    }
    for (std::size_t t = 0; t < set.operands().size(); ++t) {
      const runtime::Buffer& source = (*sets_.front())[t].memory();
      device_.copy(set[t].memory().data(), source.data(), source.bytes(), nullptr);
    }
  }
  device_.synchronize(nullptr);
}

void BufferSets::fill(PlacedTensors& set, const Case& spec, const Catalog& catalog) {
  if (kernels_ != nullptr) {
    for (GuardedTensor& tensor : set.tensors())
      device_.fill(tensor.memory().data(), 0, tensor.memory().bytes(), nullptr);
    fill_inputs_on_device(set, spec, catalog, *kernels_, nullptr);
    return;
  }
  fill_inputs(set, spec.problem, spec.fill, spec.seed, catalog);
  for (std::size_t t = 0; t < set.operands().size(); ++t) {
    if (!set.operands()[t].is_read()) set[t].poison(0);
    set[t].upload(nullptr);
  }
}

bool BufferSets::outputs_agree() {
  PlacedTensors& first = *sets_.front();
  for (std::size_t t = 0; t < first.operands().size(); ++t) {
    if (!first.operands()[t].is_written()) continue;
    std::vector<std::byte> expected;
    if (kernels_ == nullptr) {
      first[t].download(nullptr);
      expected = first[t].element_bytes();
    }
    for (std::size_t i = 1; i < sets_.size(); ++i) {
      GuardedTensor& other = (*sets_[i])[t];
      if (kernels_ != nullptr) {
        const runtime::Buffer& memory = first[t].memory();
        kernels_->compare(memory.data(), other.memory().data(), memory.bytes(), nullptr);
        continue;
      }
      other.download(nullptr);
      if (other.element_bytes() != expected) return false;
    }
  }
  return kernels_ == nullptr || !kernels_->take_difference(nullptr);
}

std::int64_t cold_rotation(double bytes, double cache_bytes) noexcept {
  const double sets = kColdFactor * cache_bytes / std::max(bytes, 1.0);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(sets) + 2, 2, kMaxSets);
}

}  // namespace kw::suite
