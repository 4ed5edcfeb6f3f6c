// SPDX-License-Identifier: Apache-2.0
// What the hot path holds a call against: the facts of an earlier one, in the order in which a call
// is read. Nothing is packed, and the first difference ends it: a norm's call matches in 29 ns,
// where packing its key takes 120.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernelwright/core/contract.hpp"

namespace kw {

// The Args object of every call is of the contract that the pattern was made with, which outlives
// it.
class CallPattern {
 public:
  CallPattern() = default;  // matches nothing
  // Of a call for which inspect_call said kOk. Calls with a list, with a tensor of no elements or
  // with more than kMaxTensors of them are known by key alone: such a pattern matches nothing.
  CallPattern(const Contract& contract, const void* args, int device_index);

  // Whether inspect_call would say kOk and give the key of the pattern's call.
  bool matches(const void* args, int device_index) const noexcept;
  // False: matches nothing.
  bool usable() const noexcept { return device_index_ >= 0; }

 private:
  static constexpr std::size_t kMaxTensors = 32;

  struct Tensor {
    std::uint32_t offset;  // of the view within Args
    DType dtype;
    std::int8_t rank;         // -1: absent
    std::uint8_t align_mask;  // low bits of the address that an alignment class fixes,
    std::uint8_t align;       // and what they are
    bool contiguous;          // strides of dimensions of size 1 say nothing
  };
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
    const CallStep* step;
    double value;  // of what `exact` compares
    bool present, exact;
  };

  bool add_tensor(const TensorView& view, const CallStep& step);
  void add_pair(const TensorView& a, const TensorView& b, std::uint8_t first, std::uint8_t second,
                bool declared);

  int device_index_ = -1;
  std::vector<Tensor> tensors_;
  std::vector<Dim> dims_;  // of all tensors, one after the other
  std::vector<Pair> pairs_;
  std::vector<Scalar> scalars_;
};

}  // namespace kw
