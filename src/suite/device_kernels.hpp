// SPDX-License-Identifier: Apache-2.0
// The suite's own kernels on a device that compiles: fills with the bits of fill_tensor(), and
// comparison of memory, so that large tensors need not cross to the host.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernelwright/jit/plan.hpp"
#include "kernelwright/suite/fill.hpp"

namespace kw::suite {

// The units, for callers that compile without a device. The Cfg's geometry is part of them.
jit::Unit fill_unit(const kit::FillCfg& cfg, const std::string& arch);
jit::Unit compare_unit(const kit::CompareCfg& cfg, const std::string& arch);
jit::Unit empty_unit(const std::string& arch);

// Elements of the inputs that a forward saved, of the case they were last computed for. Numerics
// and timing of one problem ask for the same, and the forward's reference over 2^26 elements takes
// seconds.
struct SavedElements {
  std::string case_id;
  std::vector<std::vector<double>> values;  // by input
};

// One thread at a time. Must not outlive device, toolchain and session. Kernels are compiled when
// first needed; every function throws what Session::prepare throws.
class DeviceKernels {
 public:
  DeviceKernels(runtime::Device& device, jit::Toolchain& toolchain, std::string arch,
                jit::Session& session = jit::Session::process());

  // Enqueues what fill_tensor(view, key) writes. False, and nothing is done, where only the host
  // can: indices share memory other than by stride 0, or the dtype is an f8.
  bool fill(const TensorView& view, const FillKey& key, void* stream);

  // A kernel that does nothing, with one argument of 8 bytes: what a launch alone costs.
  const jit::Plan& empty_kernel() { return prepare(empty_unit(arch_)); }

  SavedElements& saved_elements() noexcept { return saved_; }

  void synchronize(void* stream) { device_.synchronize(stream); }

  // Enqueues a comparison of `bytes` at addresses and of a size that are multiples of 8.
  void compare(const void* first, const void* second, std::int64_t bytes, void* stream);
  // Whether a comparison since the last call found a difference. Waits for the stream.
  bool take_difference(void* stream);

 private:
  const jit::Plan& prepare(const jit::Unit& unit);
  void launch(const jit::Plan& plan, std::int64_t threads, const void* arguments, std::size_t bytes,
              void* stream) const;

  runtime::Device& device_;
  jit::Toolchain& toolchain_;
  const std::string arch_;
  jit::Session& session_;
  std::map<std::string, std::shared_ptr<const jit::Plan>> plans_;  // by entry
  runtime::Buffer flag_;
  SavedElements saved_;
};

}  // namespace kw::suite
