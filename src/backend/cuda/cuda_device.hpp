// SPDX-License-Identifier: Apache-2.0
// A CUDA device through the driver, which is opened when first asked for: everything here compiles,
// links and answers on machines without one. Includes no CUDA header.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kernelwright/runtime/facilities.hpp"
#include "kernelwright/runtime/workspace_pool.hpp"

namespace kw::runtime {

namespace cuda {
struct Driver;
}

// The devices that the driver shows, in its order. Makes no context. Empty when there is none, and
// then cuda_absence() has the reason and what to do about it, else "".
const std::vector<Hardware>& cuda_devices() noexcept;
const std::string& cuda_absence() noexcept;
// 13000 for a driver of CUDA 13.0; 0 when there is none.
int cuda_driver_version() noexcept;
// "0000:3b:00.0"; "" where the driver does not tell.
std::string cuda_bus_address(int index);

// Works in the device's primary context, which it shares with CUDA's runtime and PyTorch. The null
// stream is the legacy default stream, which cannot be captured. Messages of failures name the last
// plan launched: a kernel's error shows at a later call.
class CudaDevice final : public Device, public GuardedMemory, public PersistingCache {
 public:
  // Throws Error(kEnvironment) when there is no driver or no such device.
  explicit CudaDevice(int index = 0);
  ~CudaDevice() override;

  const Hardware& hardware() const noexcept override { return hardware_; }
  // Also true for the legacy stream while another stream's capture forbids its use.
  bool is_capturing(void* stream) const noexcept override;
  void reserve_workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) override;
  void* workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) noexcept override {
    return pool_.find(stream, bytes, zeroed_bytes);
  }

  MemoryInfo memory_info() const override;
  void* allocate(std::int64_t bytes, MemoryKind kind) override;
  void deallocate(void* data, MemoryKind kind) noexcept override;
  void copy(void* destination, const void* source, std::int64_t bytes, void* stream) override;
  void fill(void* destination, std::uint8_t value, std::int64_t bytes, void* stream) override;

  void* create_stream() override;  // does not wait for the legacy stream
  void destroy_stream(void* stream) noexcept override;
  void synchronize(void* stream) override;
  std::unique_ptr<Event> create_event() override;

  bool is_asynchronous() const noexcept override { return true; }
  // By a host function: one hold at a time keeps other streams' host functions waiting, but not
  // their kernels and copies.
  std::unique_ptr<StreamHold> hold(void* stream, std::chrono::milliseconds limit) override;
  const void* thread_state() const noexcept override;  // the current context

  bool has_graphs() const noexcept override { return true; }
  void begin_capture(void* stream) override;
  std::unique_ptr<Graph> end_capture(void* stream) override;
  void cancel_capture(void* stream) noexcept override;

  std::unique_ptr<Module> load_module(std::span<const std::byte> image) override;

  bool has_guarded_memory() const noexcept override;
  void* allocate_guarded(std::int64_t bytes, Flush flush) override;
  void free_guarded(void* data) noexcept override;
  void reset_persisting() override;

 private:
  friend class CudaEvent;
  friend class CudaFunction;
  friend class CudaGraph;
  friend class CudaModule;
  class Guard;

  // Holds the primary context from the first member's life to the last's.
  struct PrimaryContext {
    PrimaryContext(const cuda::Driver& driver, int index);
    ~PrimaryContext();
    const cuda::Driver& driver;
    int device = 0;
    void* handle = nullptr;
  };

  struct GuardedBlock {
    std::uint64_t address = 0;  // of the reserved range: a page, what is mapped, a page
    std::size_t reserved = 0, page = 0;
  };

  // "cuda:0 cannot <what>: <the driver's words>; the last plan launched is <name>".
  std::string failure(std::string_view what, int result) const;
  void check(int result, std::string_view what) const;
  // An address that lives as long as the device.
  const std::string& interned(std::string_view name);

  const Hardware hardware_;
  const PrimaryContext context_;
  std::mutex names_mutex_;
  std::set<std::string, std::less<>> names_;  // guarded; of entries ever looked up
  mutable std::atomic<const std::string*> last_launched_{nullptr};
  std::mutex guarded_mutex_;
  std::map<void*, GuardedBlock> guarded_;  // guarded; by address of the data
  WorkspacePool pool_;                     // last: its end frees memory through this device
};

}  // namespace kw::runtime
