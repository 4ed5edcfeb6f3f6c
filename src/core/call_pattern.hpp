// SPDX-License-Identifier: Apache-2.0
// What the hot path holds a call against: the facts of an earlier one, in the order in which a call
// is read. Nothing is packed, and the first difference ends it: a norm's call matches in 29 ns,
// where packing its key takes 120.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernelwright/core/contract.hpp"

namespace kw {

class CallPattern {
 public:
  CallPattern() = default;  // matches nothing
  // Of a call for which inspect_call said kOk. Calls with a list, with a tensor of no elements or
  // with more than kMaxTensors of them are known by key alone: such a pattern matches nothing.
  CallPattern(const Contract& contract, const void* args, int device_index);

  // Whether inspect_call would say kOk and give the key of the pattern's call. `args` is the Args
  // object of the pattern's contract.
  bool matches(const void* args, int device_index) const noexcept;
  // False: matches nothing.
  bool usable() const noexcept { return device_index_ >= 0; }

 private:
  static constexpr std::size_t kMaxTensors = 32;

  struct Dim {
    std::int64_t size, stride;
  };
  // Byte ranges [a, a + n) and [b, b + m) meet iff b - a + m - 1 < n + m - 1, unsigned.
  struct Pair {
    std::uint64_t shift, span;
    std::uint8_t first, second;  // among the tensors present
    bool may_be_same;            // an output in place of an input
  };
  struct Scalar {
    CallStep step;
    double value;  // of what `exact` compares
    bool present, exact;
  };
  struct Tensor {
    std::uint32_t offset;  // of the view within Args
    DType dtype;
    std::int8_t rank;         // -1: absent
    std::uint8_t align_mask;  // low bits of the address that an alignment class fixes,
    std::uint8_t align;       // and what they are
    bool contiguous;          // strides of dimensions of size 1 say nothing
  };
  struct Draft;

  // Dims of all tensors, one after the other, pairs, scalars and tensors in one block: the driver
  // leaves little of this in the first-level cache, and one block is few lines that follow one
  // another.
  template <typename Part>
  const Part* part(std::size_t offset) const noexcept {
    return reinterpret_cast<const Part*>(block_.get() + offset);
  }

  std::unique_ptr<std::byte[]> block_;
  std::uint32_t pairs_at_ = 0, scalars_at_ = 0, tensors_at_ = 0, end_ = 0;  // offsets
  int device_index_ = -1;
};

// The last four of what is known of calls, each with its `pattern`; borrowed. Callable from any
// thread.
template <typename Known>
class RecentCalls {
 public:
  // Null: none that also satisfies `fits`.
  template <typename Fits>
  const Known* find(const void* args, int device_index, const Fits& fits) const noexcept {
    for (const auto& entry : entries_) {
      const Known* known = entry.load(std::memory_order_acquire);
      if (known != nullptr && fits(*known) && known->pattern.matches(args, device_index))
        return known;
    }
    return nullptr;
  }
  const Known* find(const void* args, int device_index) const noexcept {
    return find(args, device_index, [](const Known&) { return true; });
  }
  void remember(const Known& known) noexcept {
    if (!known.pattern.usable()) return;
    for (const auto& entry : entries_) {
      if (entry.load(std::memory_order_relaxed) == &known) return;
    }
    entries_[next_.fetch_add(1, std::memory_order_relaxed) % entries_.size()].store(
        &known, std::memory_order_release);
  }
  void forget() noexcept {
    for (auto& entry : entries_) entry.store(nullptr, std::memory_order_release);
  }

 private:
  std::array<std::atomic<const Known*>, 4> entries_{};
  std::atomic<unsigned> next_{0};
};

}  // namespace kw
