// SPDX-License-Identifier: Apache-2.0
// Calls with everything around the outputs under watch: canaries, inputs, workspace. What a call
// did to memory is a check; what it computed is for others to judge.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernelwright/suite/callable.hpp"
#include "kernelwright/suite/case.hpp"
#include "kernelwright/suite/guarded_tensor.hpp"
#include "kernelwright/suite/inputs.hpp"
#include "kernelwright/suite/scratch.hpp"

namespace kw::suite {

// What a launch is found guilty of that returned `status`, which is not ok.
Reason reason_of(Status status) noexcept;

// Element bytes per operand; empty for those that are only read.
using Outputs = std::vector<std::vector<std::byte>>;

// The checks of a case, in the order in which they were made.
class CheckList {
 public:
  void pass(std::string name);
  void reject(std::string name, Reason reason, std::string message);
  void add(CheckResult check) { checks_.push_back(std::move(check)); }
  const CheckResult* first_failure() const noexcept;
  bool failed() const noexcept { return first_failure() != nullptr; }
  // Moves the checks into `result`; the first that failed gives its status, reason and message.
  void conclude(CaseResult& result);

 private:
  std::vector<CheckResult> checks_;
};

// Repeated calls of one problem on one set of tensors, whose inputs are filled. All arguments must
// outlive it.
class CheckedCall {
 public:
  CheckedCall(const Problem& problem, PlacedTensors& placed, Callable& callable, Scratch& scratch,
              runtime::Device& device, CheckList& checks);

  // One call; mutated operands start from their first contents. False, with a failed check, when
  // the call failed or touched memory that is not its own.
  bool run(std::uint8_t poison, Outputs& outputs);
  // The same by replaying the graph of the callable's last call, which was on these tensors.
  bool replay(std::uint8_t poison, Outputs& outputs);

 private:
  bool watch(std::uint8_t poison, Outputs& outputs, const std::function<Status()>& call);
  void watch_memory(const std::vector<StorageHash>& before);

  const Problem& problem_;
  PlacedTensors& placed_;
  Callable& callable_;
  Scratch& scratch_;
  runtime::Device& device_;
  CheckList& checks_;
  std::vector<std::pair<std::size_t, GuardedTensor>> originals_;  // of mutated operands
};

// Where two outputs of one operand differ.
struct Difference {
  std::size_t elements = 0, first = 0;  // first: index
  std::size_t unwritten = 0;            // hold NaN poison in `a` and finite poison in `b`
};
Difference difference(const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                      std::size_t element_bytes);

}  // namespace kw::suite
