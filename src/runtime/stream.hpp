// SPDX-License-Identifier: Apache-2.0
// A stream that this library creates. Streams of callers (PyTorch's) arrive as bare handles and are
// only borrowed.
#pragma once

#include <utility>

#include "kernelwright/core/hardware.hpp"

namespace kw::runtime {

class Device;

// Owns a stream; its end waits for the work in it. Must not outlive its device.
class OwnedStream {
 public:
  OwnedStream() = default;
  explicit OwnedStream(Device& device);
  OwnedStream(OwnedStream&& other) noexcept { swap(other); }
  OwnedStream& operator=(OwnedStream&& other) noexcept {
    OwnedStream(std::move(other)).swap(*this);
    return *this;
  }
  ~OwnedStream();

  // Null on devices that have no streams (cpu), where work runs in the calling thread.
  void* handle() const noexcept { return handle_; }
  Stream stream() const noexcept;  // as core's calls take it
  void synchronize() const;
  void swap(OwnedStream& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
  }

 private:
  Device* device_ = nullptr;
  void* handle_ = nullptr;
};

// Keeps a stream from beginning what was enqueued on it after the hold, so that a test can put the
// host ahead of the device. Its end releases. Must not outlive its device.
class StreamHold {
 public:
  virtual ~StreamHold() = default;
  virtual void release() = 0;
  // Whether the limit passed first: somebody waited for the stream before it was released.
  virtual bool expired() const = 0;
};

}  // namespace kw::runtime
