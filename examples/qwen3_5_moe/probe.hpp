// SPDX-License-Identifier: Apache-2.0
// Records the calls of replaceable functions in a forward pass, so that each can run again on the
// very same inputs, eager or bound. Model code carries one line per function, a null check when
// idle.
#pragma once

#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernelwright/core/slot.hpp"
#include "qwen3_5_moe/tensor.hpp"

namespace qwen3_5_moe {

// Inputs share the storage that the pass used: model code never writes a tensor after passing it to
// a replaceable function. Outputs are tensors of the record's own.
struct RecordedCall {
  const kw::OpSlot* slot;
  std::vector<Tensor> outputs;
  std::function<void()> run;
};

// Records the calls of the constructing thread until finish() or its end. One at a time.
class CallRecorder {
 public:
  CallRecorder() { current_ = this; }
  ~CallRecorder() { current_ = nullptr; }
  CallRecorder(const CallRecorder&) = delete;
  CallRecorder& operator=(const CallRecorder&) = delete;

  static CallRecorder* current() noexcept { return current_; }
  RecordedCall& add(const kw::OpSlot& slot) {
    return calls_.emplace_back(RecordedCall{&slot, {}, {}});
  }
  // Stops and hands over what was recorded.
  std::vector<RecordedCall> finish() {
    current_ = nullptr;
    return std::move(calls_);
  }

 private:
  static thread_local CallRecorder* current_;

  std::vector<RecordedCall> calls_;
};

// A `Tensor&` parameter is an output, every other one an input.
template <typename Parameter>
std::decay_t<Parameter> keep_argument(Parameter argument, std::vector<Tensor>& outputs) {
  if constexpr (std::is_same_v<Parameter, Tensor&>) {
    return outputs.emplace_back(empty_like(argument));
  } else {
    return argument;
  }
}

// First line of a replaceable function: its slot, itself, its arguments.
template <typename... Parameters>
void probe_call(const kw::OpSlot& slot, void (*function)(Parameters...),
                std::type_identity_t<Parameters>... arguments) {
  CallRecorder* recorder = CallRecorder::current();
  if (recorder == nullptr) return;
  RecordedCall& call = recorder->add(slot);
  std::tuple<std::decay_t<Parameters>...> kept{
      keep_argument<Parameters>(arguments, call.outputs)...};
  call.run = [function, kept = std::move(kept)]() mutable { std::apply(function, kept); };
}

}  // namespace qwen3_5_moe
