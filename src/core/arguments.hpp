// SPDX-License-Identifier: Apache-2.0
// From an Args object to a problem, to a binary key, and back: the code that reads and writes
// fields through the offsets of the contract's table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "kernelwright/core/problem.hpp"

namespace kw {

// Identity of a call for the hot path: dtypes, sizes, strides, alignment classes, presence, static
// scalars and the device index. Equal keys are equally valid; dynamic scalars and addresses are not
// part of it and are looked at on every call.
struct Key {
  static constexpr std::size_t kCapacity = 256;
  std::uint32_t size = 0;
  std::array<std::byte, kCapacity> bytes;  // the first `size` are set

  bool operator==(const Key& other) const noexcept {
    return size == other.size && std::memcmp(bytes.data(), other.bytes.data(), size) == 0;
  }
  std::uint64_t hash() const noexcept;
};

enum class CallCheck : std::uint8_t {
  kOk,
  kKeyTooLong,  // needs more than Key::kCapacity bytes
  kUnsafe,  // a dynamic scalar out of range, or an output that shares memory: check_call says which
};
// Packs the key of `args` (of the contract's Args type) and looks at what a key does not cover.
// Allocates nothing, asks nobody.
CallCheck inspect_call(const Contract& contract, const void* args, int device_index,
                       Key& key) noexcept;

// The problem of a call: unchecked values read through the table.
Problem problem_from_args(const Contract& contract, int variant, const void* args);

// What inspect_call objects to, and missing outputs and null addresses, as an Error that names the
// parameters.
void check_call(const Contract& contract, int variant, const void* args);

// Owns an Args object of a type known only through its contract.
class Arguments {
 public:
  explicit Arguments(const Contract& contract);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  const Contract& contract() const noexcept { return contract_; }
  void* data() noexcept { return storage_.get(); }
  const void* data() const noexcept { return storage_.get(); }
  void set_tensor(const Parameter& parameter, const TensorView& view);
  // The list is copied; the views' memory is borrowed.
  void set_list(const Parameter& parameter, std::vector<TensorView> views);
  void set_number(const Parameter& parameter, double value);
  // All scalars given in `problem`.
  void set_scalars(const Problem& problem);

 private:
  const Contract& contract_;
  std::unique_ptr<std::byte[]> storage_;
  std::vector<std::vector<TensorView>> lists_;
};

}  // namespace kw
