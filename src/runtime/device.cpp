// SPDX-License-Identifier: Apache-2.0
// The owners of device objects, and the answers of devices that lack a facility.
#include "kernelwright/runtime/device.hpp"

#include <limits>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"

namespace kw::runtime {

std::string Device::name() const { return device_name_text({hardware().kind, hardware().index}); }

void Device::unsupported(std::string_view what, std::string_view instead) const {
  fail(Code::kUnsupported, "{} has no {}; {}", name(), what, instead);
}

std::unique_ptr<StreamHold> Device::hold(void*, std::chrono::milliseconds) {
  unsupported("streams that can be held", "its calls are done when they return");
}

void Device::begin_capture(void*) {
  unsupported("graphs", "run in eager mode, or on a device of kind cuda");
}

std::unique_ptr<Graph> Device::end_capture(void*) {
  unsupported("graphs", "run in eager mode, or on a device of kind cuda");
}

void Device::cancel_capture(void*) noexcept {}

std::unique_ptr<Module> Device::load_module(std::span<const std::byte>) {
  unsupported("loadable modules", "its implementations are compiled into the library");
}

Buffer::Buffer(Device& device, std::int64_t bytes, MemoryKind kind)
    : device_(&device), bytes_(bytes), kind_(kind) {
  if (bytes < 0) {
    fail(Code::kInvalidArgument, "cannot allocate {} bytes on {}; a size is at least 0", bytes,
         device.name());
  }
  if (bytes > 0) data_ = static_cast<std::byte*>(device.allocate(bytes, kind));
}

Buffer::~Buffer() {
  if (data_ != nullptr) device_->deallocate(data_, kind_);
}

OwnedStream::OwnedStream(Device& device) : device_(&device), handle_(device.create_stream()) {}

OwnedStream::~OwnedStream() {
  if (device_ != nullptr) device_->destroy_stream(handle_);
}

Stream OwnedStream::stream() const noexcept { return {device_, handle_}; }

void OwnedStream::synchronize() const {
  if (device_ != nullptr) device_->synchronize(handle_);
}

double Event::elapsed_ns_since(const Event& start) const {
  if (&start.device_ != &device_) {
    fail(Code::kInvalidArgument,
         "no time passes between an event of {} and one of {}; both must be of one device",
         start.device_.name(), device_.name());
  }
  return elapsed_ns(start);
}

Capture::Capture(Device& device, void* stream) : device_(device), stream_(stream) {
  device.begin_capture(stream);
}

Capture::~Capture() {
  if (open_) device_.cancel_capture(stream_);
}

std::unique_ptr<Graph> Capture::finish() {
  if (!open_) fail(Code::kConflict, "the capture on {} has ended; begin another", device_.name());
  open_ = false;
  return device_.end_capture(stream_);
}

DeviceName parse_device_name(std::string_view text) {
  const std::size_t colon = text.find(':');
  DeviceName name{parse_device_kind(text.substr(0, colon)), 0};
  if (colon == std::string_view::npos) return name;
  const auto index = parse_integer(text.substr(colon + 1));
  if (!index || *index < 0 || *index > std::numeric_limits<int>::max()) {
    fail(Code::kInvalidArgument, "device '{}': expected an index from 0 after ':', as in cuda:1",
         text);
  }
  if (name.kind == DeviceKind::kCpu && *index != 0) {
    fail(Code::kInvalidArgument, "device '{}': there is one cpu; write cpu", text);
  }
  name.index = static_cast<int>(*index);
  return name;
}

std::string device_name_text(DeviceName name) {
  const std::string_view kind = device_kind_name(name.kind);
  return name.kind == DeviceKind::kCpu ? std::string(kind) : fmt::format("{}:{}", kind, name.index);
}

}  // namespace kw::runtime
