// SPDX-License-Identifier: Apache-2.0
// Captured work that replays as a whole.
#pragma once

#include <memory>

namespace kw::runtime {

class Device;

// What a graph holds, by kind. A capture that lost a call shows as fewer kernels than calls.
struct GraphNodes {
  int kernels = 0;
  int copies = 0;
  int fills = 0;
  int allocations = 0;  // allocations and frees inside the graph
  int others = 0;       // events, host functions, child graphs

  int total() const noexcept { return kernels + copies + fills + allocations + others; }
};

// Ready to launch. Holds the addresses that were captured, the workspace of the captured stream
// among them: replay it there or in order with it, and keep the memory. Must not outlive its
// device.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual void launch(void* stream) = 0;
  virtual GraphNodes nodes() const = 0;
};

// A capture in progress, ended by finish() or abandoned by the destructor, so that an exception
// between leaves no stream in capture. Work meant for the graph goes to the stream in between.
class Capture {
 public:
  // Throws Error(kUnsupported) on devices without graphs, Error(kConflict) when capturing already.
  Capture(Device& device, void* stream);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // Throws Error(kEnvironment) when something in between invalidated the capture.
  std::unique_ptr<Graph> finish();

 private:
  Device& device_;
  void* stream_;
  bool open_ = true;
};

}  // namespace kw::runtime
