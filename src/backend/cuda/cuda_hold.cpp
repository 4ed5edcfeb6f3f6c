// SPDX-License-Identifier: Apache-2.0
// Holding a stream back until the host says so.
#include <condition_variable>

#include "kernelwright/backend/cuda/cuda_objects.hpp"

namespace kw::runtime {
namespace {

// Outlives whichever of hold and stream ends first.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  std::chrono::milliseconds limit{};
  bool released = false, expired = false;
};

void wait_at(void* data) {
  const std::unique_ptr<std::shared_ptr<Gate>> owner(static_cast<std::shared_ptr<Gate>*>(data));
  Gate& gate = **owner;
  std::unique_lock lock(gate.mutex);
  gate.expired = !gate.changed.wait_for(lock, gate.limit, [&] { return gate.released; });
}

class CudaHold final : public StreamHold {
 public:
  explicit CudaHold(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
  ~CudaHold() override { open(); }

  void release() override { open(); }
  bool expired() const override {
    const std::lock_guard lock(gate_->mutex);
    return gate_->expired;
  }

 private:
  void open() noexcept {
    const std::lock_guard lock(gate_->mutex);
    gate_->released = true;
    gate_->changed.notify_all();
  }

  std::shared_ptr<Gate> gate_;
};

}  // namespace

std::unique_ptr<StreamHold> CudaDevice::hold(void* stream, std::chrono::milliseconds limit) {
  const Guard guard(*this);
  auto gate = std::make_shared<Gate>();
  gate->limit = limit;
  auto passed = std::make_unique<std::shared_ptr<Gate>>(gate);
  check(context_.driver.host_function(cuda::stream_of(stream), wait_at, passed.get()),
        "hold a stream");
  static_cast<void>(passed.release());  // wait_at() frees it
  return std::make_unique<CudaHold>(std::move(gate));
}

const void* CudaDevice::thread_state() const noexcept {
  cuda::ContextHandle current = nullptr;
  context_.driver.context_current(&current);
  return current;
}

}  // namespace kw::runtime
