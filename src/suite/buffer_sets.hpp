// SPDX-License-Identifier: Apache-2.0
// Several copies of the tensors of one case, so that calls can walk more memory than a cache holds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernelwright/suite/case.hpp"
#include "kernelwright/suite/inputs.hpp"
#include "kernelwright/suite/request.hpp"

namespace kw::suite {

// Sets of buffers on the device of `platform` with equal contents, and the arguments of a call on
// each. Inputs are filled, on the device where the platform has kernels for it, and outputs zero;
// the null stream has finished with them.
class BufferSets {
 public:
  BufferSets(const Case& spec, std::int64_t count, const Platform& platform);

  std::int64_t count() const noexcept { return static_cast<std::int64_t>(sets_.size()); }
  // Of set i modulo count().
  const Arguments& arguments(std::int64_t i) const {
    return *arguments_[static_cast<std::size_t>(i % count())];
  }
  // Whether all sets hold the same outputs. The device must be idle.
  bool outputs_agree();
  // New inputs, of another seed, in the memory of set i; `call` runs on it and waits. What is wrong
  // with the outputs; nothing: "". An implementation that remembers answers shows here.
  std::string judge_anew(std::int64_t i, const Case& other, const Catalog& catalog,
                         const std::function<void()>& call);

 private:
  void fill(PlacedTensors& set, const Case& spec, const Catalog& catalog);

  runtime::Device& device_;
  DeviceKernels* kernels_;
  std::vector<std::unique_ptr<PlacedTensors>> sets_;
  std::vector<std::unique_ptr<Arguments>> arguments_;
};

// Sets of `bytes` each that one rotation needs to find nothing in a cache of `cache_bytes`: enough
// to cover kColdFactor caches between two uses of one set, at least 2.
inline constexpr double kColdFactor = 4;
std::int64_t cold_rotation(double bytes, double cache_bytes) noexcept;
// The same within the memory that a rotation may take; 1 where not even two sets fit.
std::int64_t affordable_rotation(double bytes, const runtime::Device& device);

}  // namespace kw::suite
