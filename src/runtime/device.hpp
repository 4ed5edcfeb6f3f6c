// SPDX-License-Identifier: Apache-2.0
// What the library needs of a device. A backend implements the pure functions and those optional
// facilities that its hardware has; the others answer with Error(kUnsupported).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernelwright/core/hardware.hpp"
#include "kernelwright/runtime/event.hpp"
#include "kernelwright/runtime/graph.hpp"
#include "kernelwright/runtime/memory.hpp"
#include "kernelwright/runtime/module.hpp"
#include "kernelwright/runtime/stream.hpp"

namespace kw::runtime {

// One device of this process. Callable from any thread; calls with the same stream or event are the
// caller's to order. A call leaves the thread's current device of the vendor's runtime as it found
// it. `stream` is the vendor's handle, null the default stream. Failures of the device throw
// Error(kEnvironment).
class Device : public DevicePort {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // "cpu", "cuda:0".
  std::string name() const;

  // Memory. Addresses are aligned to kMemoryAlignment; Buffer calls these.
  virtual MemoryInfo memory_info() const = 0;
  virtual void* allocate(std::int64_t bytes, MemoryKind kind) = 0;  // bytes > 0
  virtual void deallocate(void* data, MemoryKind kind) noexcept = 0;
  // Both may return before the work is done; memory stays valid until the stream has passed it.
  // Each address is of this device or of the host.
  virtual void copy(void* destination, const void* source, std::int64_t bytes, void* stream) = 0;
  virtual void fill(void* destination, std::uint8_t value, std::int64_t bytes, void* stream) = 0;

  // Streams. destroy_stream waits for the work and frees the stream's workspace.
  virtual void* create_stream() = 0;
  virtual void destroy_stream(void* stream) noexcept = 0;
  virtual void synchronize(void* stream) = 0;
  virtual std::unique_ptr<Event> create_event() = 0;

  // Whether calls return before their work is done, in streams that run beside each other.
  virtual bool is_asynchronous() const noexcept { return false; }
  // Work enqueued on `stream` from now on begins when the hold is released, or after `limit`.
  virtual std::unique_ptr<StreamHold> hold(void* stream, std::chrono::milliseconds limit);
  // What the vendor's runtime takes for this thread's current device: equal before and after every
  // call of ours. Null where there is no such thing.
  virtual const void* thread_state() const noexcept { return nullptr; }

  // Graphs; Capture calls these. cancel_capture discards what was captured.
  virtual bool has_graphs() const noexcept { return false; }
  virtual void begin_capture(void* stream);
  virtual std::unique_ptr<Graph> end_capture(void* stream);
  virtual void cancel_capture(void* stream) noexcept;

  // Device code from memory. Throws Error(kEnvironment) when the device refuses the image.
  virtual std::unique_ptr<Module> load_module(std::span<const std::byte> image);

 protected:
  [[noreturn]] void unsupported(std::string_view what, std::string_view instead) const;
};

// Text of `--device`: "cpu", "cuda", "cuda:1".
struct DeviceName {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;
};
// Throws Error(kNotFound | kInvalidArgument).
DeviceName parse_device_name(std::string_view text);
std::string device_name_text(DeviceName name);

}  // namespace kw::runtime
