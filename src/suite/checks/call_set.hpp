// SPDX-License-Identifier: Apache-2.0
// One set of tensors for a call that runs somewhere in a stream: pristine inputs, the tensors of
// the call, and a place for its outputs, all on the device, so that a whole chain of producer, call
// and consumer can be enqueued without the host.
#pragma once

#include <memory>

#include "kernelwright/suite/checked_call.hpp"

namespace kw::suite {

class CallSet {
 public:
  // Inputs of `spec`, made on the host.
  CallSet(runtime::Device& device, const Case& spec, const Catalog& catalog,
          std::int64_t shift = 0);

  // All enqueued on `stream`. spoil: what the call reads and writes is poison or, where it may be
  // an index, zero. produce: inputs are those of `from`, outputs poison. consume: outputs are set
  // aside.
  void spoil(void* stream);
  void produce(void* stream) { produce(stream, *this); }
  void produce(void* stream, const CallSet& from);
  void consume(void* stream);

  const Arguments& arguments() const noexcept { return *arguments_; }
  // Frees the Args object of the calls so far and makes another; calls enqueued or captured before
  // must not need it.
  void renew_arguments();
  // Points the tensors of the same Args object at those of `other`, as a host does that reuses it.
  // Lists of tensors stay.
  void reuse_arguments(CallSet& other);
  PlacedTensors& target() noexcept { return target_; }
  PlacedTensors& source() noexcept { return source_; }
  PlacedTensors& aside() noexcept { return consumed_; }

  // After the host changed the image of source().
  void upload_inputs();

  // Elements of the outputs: what consume() set aside, and what stands there now. The stream has
  // finished. These wait for the null stream.
  Outputs consumed() { return read(consumed_); }
  Outputs current() { return read(target_); }
  // Says where a canary of the call's tensors, or an input, is not what produce() left.
  std::optional<std::string> damage();

 private:
  Outputs read(PlacedTensors& placed);

  runtime::Device& device_;
  const Problem problem_;
  PlacedTensors source_, target_, consumed_;
  std::unique_ptr<Arguments> arguments_;
};

}  // namespace kw::suite
