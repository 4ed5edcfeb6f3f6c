// SPDX-License-Identifier: Apache-2.0
// A CUDA device that is not there: host memory behind, any capability, capture and replay, and a
// count of every call that would reach the driver. Time is simulated, so that tests of timing are
// exact.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kernelwright/runtime/facilities.hpp"
#include "kernelwright/runtime/workspace_pool.hpp"

namespace kw::test {

struct FakeDeviceOptions {
  int index = 0;
  int capability = 90;
  int units = 132;
  std::int64_t memory_bytes = std::int64_t{1} << 30;
  unsigned shared_bytes_per_block = 232448;
  std::int64_t cache_bytes = std::int64_t{60} << 20;
  double gigabytes_per_second = 0;  // of copies and fills, each byte moved once; 0: no time
};

// Calls since construction or reset_calls(). A hit of the hot path changes `launches` alone.
struct DriverCalls {
  int queries = 0;  // capture state, memory
  int reservations = 0;
  int allocations = 0, frees = 0;
  int copies = 0, fills = 0;
  int launches = 0, graph_launches = 0;
  int captures = 0;  // begun
  int streams = 0, events = 0;
  int synchronizations = 0;
  int modules = 0, functions = 0;
  int persisting_resets = 0;

  bool operator==(const DriverCalls&) const = default;
};

// A kernel of a module: gets the argument block that was captured or launched.
using FakeKernel = std::function<void(const runtime::LaunchShape& shape, const void* arguments)>;

// Work runs at once, in the calling thread and under the device's lock, or is recorded when its
// stream is capturing. As on CUDA: the default stream cannot be captured; allocating or waiting
// during a capture is an error and invalidates it. New memory holds 0xA5.
class FakeDevice final : public runtime::Device, public runtime::PersistingCache {
 public:
  static constexpr double kKernelNs = 1000;  // device time of a kernel that names no other
  static constexpr std::byte kFreshMemory{0xA5};

  explicit FakeDevice(const FakeDeviceOptions& options = {});
  ~FakeDevice() override;

  // For tests.
  DriverCalls calls() const;
  void reset_calls();
  std::int64_t allocated_bytes() const;
  void set_capability(int capability) { hardware_.capability = capability; }
  // The next launch of a kernel returns StatusCode::kDevice with this message.
  void fail_next_launch(std::string message);
  // Enqueues `work` as a kernel, for implementations that are host code of a test.
  Status enqueue(void* stream, std::function<void()> work, double ns = kKernelNs) noexcept;
  // Makes an entry available to images that name it.
  void define_kernel(const std::string& name, FakeKernel kernel);
  // An image with these entries, as load_module takes it.
  static std::vector<std::byte> image(const std::vector<std::string>& entries);
  void trim_workspace() noexcept { pool_.trim(); }

  const Hardware& hardware() const noexcept override { return hardware_; }
  bool is_capturing(void* stream) const noexcept override;
  void reserve_workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) override;
  void* workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) noexcept override;

  runtime::MemoryInfo memory_info() const override;
  void* allocate(std::int64_t bytes, runtime::MemoryKind kind) override;
  void deallocate(void* data, runtime::MemoryKind kind) noexcept override;
  void copy(void* destination, const void* source, std::int64_t bytes, void* stream) override;
  void fill(void* destination, std::uint8_t value, std::int64_t bytes, void* stream) override;

  void* create_stream() override;
  void destroy_stream(void* stream) noexcept override;
  void synchronize(void* stream) override;
  std::unique_ptr<runtime::Event> create_event() override;

  bool has_graphs() const noexcept override { return true; }
  void begin_capture(void* stream) override;
  std::unique_ptr<runtime::Graph> end_capture(void* stream) override;
  void cancel_capture(void* stream) noexcept override;

  std::unique_ptr<runtime::Module> load_module(std::span<const std::byte> image) override;

  void reset_persisting() override;

 private:
  friend class FakeEvent;
  friend class FakeFunction;
  friend class FakeGraph;
  friend class FakeModule;

  struct StreamState;
  struct Node {
    int runtime::GraphNodes::*kind;
    std::function<void(StreamState&)> work;
    double ns = 0;
  };
  struct RecordedCapture {
    std::vector<Node> nodes;
    std::string invalid;  // why, once something forbidden was called
  };
  struct StreamState {
    double now_ns = 0;
    std::optional<RecordedCapture> capture;

    void run(const Node& node);
  };

  // Throws for a handle that is not of this device.
  StreamState& state(void* stream) const;
  void submit(void* stream, Node node);
  double traffic_ns(std::int64_t bytes) const noexcept;
  Status launch(void* stream, Node node) noexcept;
  void check_range(const void* data, std::int64_t bytes, std::string_view what) const;
  // Invalidates the captures that `forbidden` reaches, and throws if there is one.
  void forbid_in_capture(std::string_view what, const StreamState* only = nullptr);

  Hardware hardware_;
  const FakeDeviceOptions options_;
  mutable std::recursive_mutex mutex_;  // guards all below but the pool, which has its own
  mutable DriverCalls calls_;
  std::unique_ptr<StreamState> default_stream_;
  std::map<const void*, std::unique_ptr<StreamState>> streams_;  // by handle, the state's address
  std::map<const std::byte*, std::int64_t> allocations_;
  std::map<std::string, FakeKernel> kernels_;
  std::string launch_failure_;
  runtime::WorkspacePool pool_;  // last: its end frees memory through this device
};

}  // namespace kw::test
