// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/buffer_sets.hpp"

#include <algorithm>

#include "kernelwright/suite/checked_call.hpp"
#include "kernelwright/suite/device_inputs.hpp"
#include "kernelwright/suite/judge.hpp"

namespace kw::suite {
namespace {

constexpr std::int64_t kMaxSets = 4096;
constexpr double kMaxRotationBytes = 8e9, kMemoryShare = 0.5;

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

std::string BufferSets::judge_anew(std::int64_t i, const Case& other, const Catalog& catalog,
                                   const std::function<void()>& call) {
  PlacedTensors& set = *sets_[static_cast<std::size_t>(i % count())];
  fill_inputs(set, other.problem, other.fill, other.seed, catalog);
  for (std::size_t t = 0; t < set.operands().size(); ++t) {
    if (!set.operands()[t].is_read()) set[t].poison(kNanPoison);
    set[t].upload(nullptr);
  }
  device_.synchronize(nullptr);
  call();
  for (GuardedTensor& tensor : set.tensors()) tensor.download(nullptr);
  for (const CheckResult& check : judge_outputs(other, set, read_inputs(set), catalog).checks) {
    if (!check.passed && check.reason != Reason::kMistrustedOracle) return check.message;
  }
  return {};
}

std::int64_t affordable_rotation(double bytes, const runtime::Device& device) {
  const double memory = std::min(
      kMaxRotationBytes, kMemoryShare * static_cast<double>(device.memory_info().free_bytes));
  const auto most = static_cast<std::int64_t>(memory / std::max(bytes, 1.0));
  const auto cache = static_cast<double>(device.hardware().last_level_cache_bytes);
  return std::clamp<std::int64_t>(most, 1, cold_rotation(bytes, cache));
}

std::int64_t cold_rotation(double bytes, double cache_bytes) noexcept {
  const double sets = kColdFactor * cache_bytes / std::max(bytes, 1.0);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(sets) + 2, 2, kMaxSets);
}

}  // namespace kw::suite
