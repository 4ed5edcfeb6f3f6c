// SPDX-License-Identifier: Apache-2.0
// Private: one operation/variant as a function of framework tensors. Arguments come in the order of
// the contract's table, one per parameter; outputs that the caller did not bring are allocated
// here, for core never does.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <tvm/ffi/function.h>

#include "kernelwright/core/arguments.hpp"
#include "kernelwright/core/call_pattern.hpp"
#include "kernelwright/core/slot.hpp"
#include "kernelwright/runtime/device.hpp"

namespace kw::ffi {

// An argument is
//   a tensor or None                    for tensors (None: absent),
//   an array of tensors or None         for lists,
//   a number, bool or None              for scalars (None: the default); a choice by name,
//   None, False, True, or the tensor(s) for outputs: not wanted, allocate it, write into it.
// Required outputs are always wanted. The result is the outputs allocated here, in the order of the
// table: nothing, one, or an array of them; a list is an array. What the caller brought it has.
// Callable from any thread.
class FrontCall {
 public:
  // Unbound until `slot()` is bound by a context of `device.kind`.
  FrontCall(const Contract& contract, int variant, DeviceKind device);

  OpSlot& slot() noexcept { return slot_; }
  tvm::ffi::Any operator()(tvm::ffi::PackedArgs arguments);

 private:
  struct Frame;
  // What is to be allocated for calls of one key.
  struct Missing {
    std::size_t parameter;
    bool is_list;
    std::vector<TensorSpec> specs;
  };
  struct Inference {
    CallPattern pattern;
    std::uint64_t wanted = 0;
    std::vector<Missing> outputs;
  };

  void read_tensor(Frame& frame, std::size_t index, const tvm::ffi::AnyView& argument);
  void read_list(Frame& frame, std::size_t index, const tvm::ffi::AnyView& argument);
  void read_scalar(Frame& frame, std::size_t index, const tvm::ffi::AnyView& argument);
  bool read_wish(Frame& frame, std::size_t index, const tvm::ffi::AnyView& argument);
  TensorView read_view(Frame& frame, const Parameter& parameter, const tvm::ffi::AnyView& argument);
  const Inference& infer(Frame& frame);
  Inference inferred(const Frame& frame) const;
  runtime::Device& device(runtime::DeviceName name);

  // Beyond so many kinds of calls, outputs are inferred anew at each (about 10 us).
  static constexpr std::size_t kMaxInferences = 4096;
  static constexpr std::size_t kMaxDevices = 64;

  const Contract& contract_;
  const int variant_;
  const DeviceKind device_;
  OpSlot slot_;
  std::array<std::atomic<runtime::Device*>, kMaxDevices> devices_{};

  RecentCalls<Inference> recent_;
  std::mutex mutex_;  // guards inferences_
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept { return key.hash(); }
  };
  std::unordered_multimap<Key, std::unique_ptr<const Inference>, KeyHash> inferences_;
};

}  // namespace kw::ffi
