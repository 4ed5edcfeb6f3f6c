// SPDX-License-Identifier: Apache-2.0
// The guard object of model code. A slot is a literal: constructing it registers nothing and reads
// nothing. Model code keeps its own body and adds two lines on top:
//   if (kw_scale.bound())
//     return kw_scale(kw::ops::scale::Args{.x = x, .y = y, .factor = 2});
#pragma once

#include <atomic>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernelwright/core/call_pattern.hpp"
#include "kernelwright/core/context.hpp"

namespace kw {

struct PreparedCall;  // core/binding.hpp

class OpSlot {
 public:
  constexpr OpSlot(std::string_view operation, std::string_view variant) noexcept
      : operation_(operation), variant_(variant) {}
  OpSlot(const OpSlot&) = delete;
  OpSlot& operator=(const OpSlot&) = delete;

  std::string_view operation() const noexcept { return operation_; }
  std::string_view variant() const noexcept { return variant_; }
  // False: the model's own code runs.
  bool bound() const noexcept { return binding_.load(std::memory_order_acquire) != nullptr; }

  // Enqueues the call. Throws the Error of a failed status.
  template <typename Args>
  void operator()(const Args& args, Stream stream = {}) {
    throw_if_failed(try_call(args, stream));
  }
  // The same as a Status; last_message() has the text.
  template <typename Args>
  Status try_call(const Args& args, Stream stream = {}) noexcept {
    return call(Args::contract(), &args, stream);
  }
  // `args` is the Args object of `contract`.
  Status call(const Contract& contract, const void* args, Stream stream) noexcept;

  // "OpSlot(moe_experts/standard -> cuda.jit.moe_experts)", "... -> eager)".
  std::string repr() const;

 private:
  friend class Context;
  friend class SlotSet;
  void attach(Binding* binding) noexcept;

  std::string_view operation_, variant_;
  std::atomic<Binding*> binding_{nullptr};
  // Of those that stay; they are the binding's, which outlives the slot's use.
  RecentCalls<PreparedCall> recent_;
};

// The slots of one model instance.
class SlotSet {
 public:
  SlotSet(std::initializer_list<OpSlot*> slots) : slots_(slots) {}
  explicit SlotSet(std::vector<OpSlot*> slots) : slots_(std::move(slots)) {}
  std::span<OpSlot* const> slots() const noexcept { return slots_; }
  // Back to eager.
  void unbind() noexcept;

 private:
  std::vector<OpSlot*> slots_;
};

}  // namespace kw
