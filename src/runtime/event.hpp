// SPDX-License-Identifier: Apache-2.0
// A point in the work of a stream: for ordering streams and for device time.
#pragma once

namespace kw::runtime {

class Device;

// Made by Device::create_event; must not outlive the device. One thread at a time.
class Event {
 public:
  virtual ~Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  Device& device() const noexcept { return device_; }
  // Marks the end of what `stream` holds now; a later record moves the mark.
  virtual void record(void* stream) = 0;
  // Later work of `stream` starts after the mark. An event never recorded holds nothing back.
  virtual void block(void* stream) = 0;
  // The calling thread waits for the mark.
  virtual void synchronize() = 0;
  // Nanoseconds of device time between the marks; negative when `start` is the later one. Both
  // events must have been recorded and reached, else throws Error(kInvalidArgument). Resolution:
  // cpu 1 ns of steady_clock, cuda about 500 ns.
  double elapsed_ns_since(const Event& start) const;

 protected:
  explicit Event(Device& device) noexcept : device_(device) {}
  // `start` is an event of the same device.
  virtual double elapsed_ns(const Event& start) const = 0;

 private:
  Device& device_;
};

}  // namespace kw::runtime
