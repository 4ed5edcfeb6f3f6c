// SPDX-License-Identifier: Apache-2.0
// A device in software with the freedom that hardware has and seldom uses: a stream lags as far
// behind the host, and behind other streams, as nobody forbids. On it a missing order between two
// pieces of work shows every time, on any machine. Its kernels are host functions.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "kernelwright/runtime/facilities.hpp"
#include "kernelwright/runtime/workspace_pool.hpp"
#include "kernelwright/suite/mapped_pages.hpp"

namespace kw::suite {

// Kind cuda: asynchronous, as below, with graphs. Kind cpu: work is done when a call returns.
//
// Work runs when it is enqueued, unless its stream is held or waits for another's event; and when
// somebody waits for its stream. After such a wait the other streams go on as far as they can.
// Allocating, and waiting for a stream, are errors while it is captured.
class EmulatedDevice final : public runtime::Device, public runtime::GuardedMemory {
 public:
  explicit EmulatedDevice(DeviceKind kind, int index = 0);
  ~EmulatedDevice() override;

  // Enqueues `work` as a kernel.
  Status enqueue(void* stream, std::function<void()> work) noexcept;
  // The calling thread's current device, as the vendor's runtime has one; null at first.
  static void make_current(const EmulatedDevice* device) noexcept;

  const Hardware& hardware() const noexcept override { return hardware_; }
  bool is_capturing(void* stream) const noexcept override;
  void reserve_workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) override {
    pool_.reserve(stream, stream, bytes, zeroed_bytes);
  }
  void* workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) noexcept override {
    return pool_.find(stream, bytes, zeroed_bytes);
  }

  runtime::MemoryInfo memory_info() const override;
  void* allocate(std::int64_t bytes, runtime::MemoryKind kind) override;
  void deallocate(void* data, runtime::MemoryKind kind) noexcept override;
  void copy(void* destination, const void* source, std::int64_t bytes, void* stream) override;
  void fill(void* destination, std::uint8_t value, std::int64_t bytes, void* stream) override;

  void* create_stream() override;  // null for kind cpu
  void destroy_stream(void* stream) noexcept override;
  void synchronize(void* stream) override;
  std::unique_ptr<runtime::Event> create_event() override;

  bool is_asynchronous() const noexcept override { return has_graphs(); }
  std::unique_ptr<runtime::StreamHold> hold(void* stream, std::chrono::milliseconds limit) override;
  const void* thread_state() const noexcept override;

  bool has_graphs() const noexcept override { return hardware_.kind != DeviceKind::kCpu; }
  void begin_capture(void* stream) override;
  std::unique_ptr<runtime::Graph> end_capture(void* stream) override;
  void cancel_capture(void* stream) noexcept override;

  bool has_guarded_memory() const noexcept override { return true; }
  void* allocate_guarded(std::int64_t bytes, Flush flush) override;
  void free_guarded(void* data) noexcept override;

 private:
  friend class EmulatedEvent;
  friend class EmulatedGraph;

  struct StreamState;
  // A point in a stream: work that waits for it comes later than all before it.
  struct Mark {
    StreamState* stream = nullptr;
    bool reached = false;
    std::int64_t ns = 0;  // of steady_clock, once reached
  };
  struct Task {
    int runtime::GraphNodes::*kind;
    std::function<void()> work;
    std::shared_ptr<Mark> waits_for, marks;  // either or neither
  };
  struct Hold {
    bool released = false, expired = false;
  };
  struct StreamState {
    std::deque<Task> pending;
    std::shared_ptr<Hold> hold;
    bool capturing = false;
    std::deque<Task> captured;
    std::string invalid;  // why the capture is, once something forbidden was done
  };

  StreamState& state(void* stream) const;
  void submit(void* stream, Task task);
  // Runs what can run; `until`: no further than this mark. With `obliged` what another stream must
  // do first is done, and holds give way.
  void advance(StreamState& stream, bool obliged, const Mark* until = nullptr);
  void forbid_in_capture(StreamState& stream, std::string_view what);

  mutable std::recursive_mutex mutex_;  // work may enqueue work
  Hardware hardware_;
  std::unique_ptr<StreamState> default_stream_;
  std::map<void*, std::unique_ptr<StreamState>> streams_;
  std::map<void*, std::int64_t> allocations_;
  std::map<void*, MappedPages> guarded_;
  std::int64_t allocated_ = 0;
  runtime::WorkspacePool pool_;  // last: its end frees memory through this device
};

}  // namespace kw::suite
