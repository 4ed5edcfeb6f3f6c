// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/selftest/emulated_device.hpp"

#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "kernelwright/base/fail.hpp"

namespace kw::suite {

using runtime::Event;
using runtime::Graph;
using runtime::GraphNodes;
using runtime::MemoryInfo;
using runtime::MemoryKind;
using runtime::StreamHold;

namespace {

constexpr std::int64_t kMemory = std::int64_t{32} << 30;
constexpr std::int64_t kScribbled = std::int64_t{64} << 20;  // larger blocks stay untouched
constexpr std::align_val_t kAlignment{static_cast<std::size_t>(runtime::kMemoryAlignment)};
thread_local const EmulatedDevice* current_device = nullptr;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

class EmulatedEvent final : public Event {
 public:
  explicit EmulatedEvent(EmulatedDevice& device) : Event(device), device_(device) {}

  void record(void* stream) override {
    const std::lock_guard lock(device_.mutex_);
    mark_ = std::make_shared<EmulatedDevice::Mark>();
    mark_->stream = &device_.state(stream);
    device_.submit(stream, {&GraphNodes::others, {}, nullptr, mark_});
  }
  void block(void* stream) override {
    const std::lock_guard lock(device_.mutex_);
    if (mark_ != nullptr) device_.submit(stream, {&GraphNodes::others, {}, mark_, nullptr});
  }
  void synchronize() override {
    const std::lock_guard lock(device_.mutex_);
    if (mark_ != nullptr && !mark_->reached) device_.advance(*mark_->stream, true, mark_.get());
  }

 private:
  double elapsed_ns(const Event& start) const override {
    const std::lock_guard lock(device_.mutex_);
    const auto& from = static_cast<const EmulatedEvent&>(start).mark_;
    if (mark_ == nullptr || from == nullptr || !mark_->reached || !from->reached) {
      fail(Code::kInvalidArgument,
           "elapsed time of an event on {} that was never recorded or is not reached",
           device_.name());
    }
    return static_cast<double>(mark_->ns - from->ns);
  }

  EmulatedDevice& device_;
  std::shared_ptr<EmulatedDevice::Mark> mark_;
};

class EmulatedGraph final : public Graph {
 public:
  EmulatedGraph(EmulatedDevice& device, std::deque<EmulatedDevice::Task> tasks)
      : device_(device), tasks_(std::move(tasks)) {}

  void launch(void* stream) override {
    const std::lock_guard lock(device_.mutex_);
    for (const auto& task : tasks_) device_.submit(stream, task);
  }
  GraphNodes nodes() const override {
    GraphNodes count;
    for (const auto& task : tasks_) ++(count.*task.kind);
    return count;
  }

 private:
  EmulatedDevice& device_;
  const std::deque<EmulatedDevice::Task> tasks_;
};

EmulatedDevice::EmulatedDevice(DeviceKind kind, int index)
    : default_stream_(std::make_unique<StreamState>()), pool_(*this) {
  hardware_.kind = kind;
  hardware_.index = index;
  hardware_.model = "emulated device";
  hardware_.capability = kind == DeviceKind::kCpu ? 1 : 90;
  hardware_.units = 1;
  hardware_.last_level_cache_bytes = 1 << 16;
}

EmulatedDevice::~EmulatedDevice() = default;

void EmulatedDevice::make_current(const EmulatedDevice* device) noexcept {
  current_device = device;
}

const void* EmulatedDevice::thread_state() const noexcept { return current_device; }

EmulatedDevice::StreamState& EmulatedDevice::state(void* stream) const {
  if (stream == nullptr) return *default_stream_;
  const auto found = streams_.find(stream);
  if (found == streams_.end())
    fail(Code::kInvalidArgument, "stream {} is not one of {}", stream, name());
  return *found->second;
}

void EmulatedDevice::submit(void* stream, Task task) {
  StreamState& target = state(stream);
  if (target.capturing) {
    target.captured.push_back(std::move(task));
    return;
  }
  target.pending.push_back(std::move(task));
  advance(target, false);
}

void EmulatedDevice::advance(StreamState& stream, bool obliged, const Mark* until) {
  while (!stream.pending.empty()) {
    if (stream.hold != nullptr && !stream.hold->released) {
      if (!obliged) return;
      stream.hold->expired = true;
    }
    stream.hold = nullptr;
    const Task task = stream.pending.front();
    if (task.waits_for != nullptr && !task.waits_for->reached) {
      if (!obliged) return;
      advance(*task.waits_for->stream, true, task.waits_for.get());
    }
    stream.pending.pop_front();
    if (task.work) task.work();
    if (task.marks == nullptr) continue;
    task.marks->reached = true;
    task.marks->ns = now_ns();
    if (task.marks.get() == until) return;
  }
}

void EmulatedDevice::forbid_in_capture(StreamState& stream, std::string_view what) {
  if (!stream.capturing) return;
  stream.invalid = std::string(what) + " during the capture";
  fail(Code::kEnvironment, "{} on {} is not permitted while a stream is capturing", what, name());
}

Status EmulatedDevice::enqueue(void* stream, std::function<void()> work) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    submit(stream, {&GraphNodes::kernels, std::move(work), nullptr, nullptr});
    return {};
  } catch (const std::exception& error) {
    return failed(StatusCode::kDevice, error.what());
  }
}

bool EmulatedDevice::is_capturing(void* stream) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  return found != streams_.end() && found->second->capturing;
}

MemoryInfo EmulatedDevice::memory_info() const {
  const std::lock_guard lock(mutex_);
  return {kMemory, kMemory - allocated_};
}

void* EmulatedDevice::allocate(std::int64_t bytes, MemoryKind) {
  const std::lock_guard lock(mutex_);
  for (auto& [handle, stream] : streams_) forbid_in_capture(*stream, "an allocation");
  if (bytes > kMemory - allocated_) {
    fail(Code::kEnvironment, "cannot allocate {} bytes on {}: {} of {} are available", bytes,
         name(), kMemory - allocated_, kMemory);
  }
  void* const data = ::operator new(static_cast<std::size_t>(bytes), kAlignment);
  if (bytes <= kScribbled) std::memset(data, 0xA5, static_cast<std::size_t>(bytes));
  allocations_.emplace(data, bytes);
  allocated_ += bytes;
  return data;
}

void EmulatedDevice::deallocate(void* data, MemoryKind) noexcept {
  const std::lock_guard lock(mutex_);
  if (const auto found = allocations_.find(data); found != allocations_.end()) {
    allocated_ -= found->second;
    allocations_.erase(found);
  }
  ::operator delete(data, kAlignment);
}

void* EmulatedDevice::allocate_guarded(std::int64_t bytes, Flush flush) {
  const std::lock_guard lock(mutex_);
  MappedPages pages(static_cast<std::size_t>(bytes), flush == Flush::kEnd);
  void* const data = pages.data();
  guarded_.emplace(data, std::move(pages));
  return data;
}

void EmulatedDevice::free_guarded(void* data) noexcept {
  const std::lock_guard lock(mutex_);
  guarded_.erase(data);
}

void EmulatedDevice::copy(void* destination, const void* source, std::int64_t bytes, void* stream) {
  if (bytes <= 0) return;
  const std::lock_guard lock(mutex_);
  submit(stream, {&GraphNodes::copies,
                  [=] { std::memmove(destination, source, static_cast<std::size_t>(bytes)); },
                  nullptr, nullptr});
}

void EmulatedDevice::fill(void* destination, std::uint8_t value, std::int64_t bytes, void* stream) {
  if (bytes <= 0) return;
  const std::lock_guard lock(mutex_);
  submit(stream, {&GraphNodes::fills,
                  [=] { std::memset(destination, value, static_cast<std::size_t>(bytes)); },
                  nullptr, nullptr});
}

void* EmulatedDevice::create_stream() {
  if (!is_asynchronous()) return nullptr;
  const std::lock_guard lock(mutex_);
  auto stream = std::make_unique<StreamState>();
  void* const handle = stream.get();
  streams_.emplace(handle, std::move(stream));
  return handle;
}

void EmulatedDevice::destroy_stream(void* stream) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  advance(*found->second, true);
  pool_.release(stream);
  streams_.erase(found);
}

void EmulatedDevice::synchronize(void* stream) {
  const std::lock_guard lock(mutex_);
  StreamState& target = state(stream);
  forbid_in_capture(target, "a synchronisation");
  advance(target, true);
  advance(*default_stream_, false);
  for (auto& [handle, other] : streams_) advance(*other, false);
}

std::unique_ptr<Event> EmulatedDevice::create_event() {
  return std::make_unique<EmulatedEvent>(*this);
}

std::unique_ptr<StreamHold> EmulatedDevice::hold(void* stream, std::chrono::milliseconds limit) {
  if (!is_asynchronous()) return Device::hold(stream, limit);
  class Holding final : public StreamHold {
   public:
    explicit Holding(std::shared_ptr<Hold> hold) : hold_(std::move(hold)) {}
    ~Holding() override { hold_->released = true; }
    void release() override { hold_->released = true; }
    bool expired() const override { return hold_->expired; }

   private:
    std::shared_ptr<Hold> hold_;
  };
  const std::lock_guard lock(mutex_);
  StreamState& target = state(stream);
  advance(target, true);
  target.hold = std::make_shared<Hold>();
  return std::make_unique<Holding>(target.hold);
}

void EmulatedDevice::begin_capture(void* stream) {
  if (!has_graphs()) return Device::begin_capture(stream);
  const std::lock_guard lock(mutex_);
  StreamState& target = state(stream);
  if (stream == nullptr)
    fail(Code::kUnsupported, "the default stream of {} cannot be captured", name());
  if (target.capturing) fail(Code::kConflict, "a stream of {} is capturing already", name());
  target.capturing = true;
  target.captured.clear();
  target.invalid.clear();
}

std::unique_ptr<Graph> EmulatedDevice::end_capture(void* stream) {
  if (!has_graphs()) return Device::end_capture(stream);
  const std::lock_guard lock(mutex_);
  StreamState& target = state(stream);
  if (!target.capturing) fail(Code::kConflict, "a stream of {} is not capturing", name());
  target.capturing = false;
  if (!target.invalid.empty())
    fail(Code::kEnvironment, "the capture on {} is invalid: {}", name(), target.invalid);
  return std::make_unique<EmulatedGraph>(*this, std::move(target.captured));
}

void EmulatedDevice::cancel_capture(void* stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (const auto found = streams_.find(stream); found != streams_.end())
    found->second->capturing = false;
}

}  // namespace kw::suite
