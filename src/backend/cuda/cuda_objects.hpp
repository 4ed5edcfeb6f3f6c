// SPDX-License-Identifier: Apache-2.0
// Private: what a CudaDevice makes, and the guard that makes its context current.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "kernelwright/backend/cuda/cuda_device.hpp"
#include "kernelwright/backend/cuda/driver.hpp"
#include "kernelwright/runtime/raw_launches.hpp"

namespace kw::runtime {

namespace cuda {

inline StreamHandle stream_of(void* stream) noexcept { return static_cast<StreamHandle>(stream); }
inline Address address_of(const void* data) noexcept {
  return reinterpret_cast<std::uintptr_t>(data);
}
inline void* pointer_of(Address address) noexcept {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

}  // namespace cuda

// The device's context is current within; usually it is already, and then this is one query.
class CudaDevice::Guard {
 public:
  explicit Guard(const CudaDevice& device) noexcept : driver_(device.context_.driver) {
    cuda::ContextHandle current = nullptr;
    driver_.context_current(&current);
    if (current == device.context_.handle) return;
    auto* const wanted = static_cast<cuda::ContextHandle>(device.context_.handle);
    pushed_ = driver_.context_push(wanted) == cuda::kSuccess;
  }
  ~Guard() {
    cuda::ContextHandle popped = nullptr;
    if (pushed_) driver_.context_pop(&popped);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  const cuda::Driver& driver_;
  bool pushed_ = false;
};

class CudaEvent final : public Event {
 public:
  explicit CudaEvent(CudaDevice& device);
  ~CudaEvent() override;

  void record(void* stream) override;
  void block(void* stream) override;
  void synchronize() override;

 private:
  double elapsed_ns(const Event& start) const override;

  CudaDevice& device_;
  cuda::EventHandle handle_ = nullptr;
};

class CudaGraph final : public Graph, public RawLaunches {
 public:
  // Owns `graph`, also when it throws.
  CudaGraph(CudaDevice& device, cuda::GraphHandle graph);
  ~CudaGraph() override;

  void launch(void* stream) override;
  GraphNodes nodes() const override { return nodes_; }
  std::unique_ptr<ThreadScope> make_current() override;
  bool launch_kernels(void* stream) override;

 private:
  struct KernelLaunch {
    cuda::KernelNode node;
    cuda::LaunchAttribute cluster;
    cuda::LaunchConfig config;
  };
  std::vector<cuda::NodeHandle> node_handles() const;
  GraphNodes count_nodes() const;
  void list_kernels();

  CudaDevice& device_;
  cuda::GraphHandle graph_ = nullptr;
  cuda::GraphExecHandle executable_ = nullptr;
  GraphNodes nodes_;
  std::vector<KernelLaunch> kernels_;  // when first asked for
};

class CudaFunction final : public Function {
 public:
  CudaFunction(CudaDevice& device, cuda::FunctionHandle handle, std::string_view name);

  // Opts in to `bytes` of dynamic shared memory. Throws Error(kUnsupported) for more than there is.
  void allow_shared(unsigned bytes);

  FunctionFacts facts() const noexcept override { return facts_; }
  int resident_blocks(const LaunchShape& shape) const override;
  Status launch(const LaunchShape& shape, const void* arguments, std::size_t argument_bytes,
                void* stream) const noexcept override;

 private:
  int attribute(int which) const;

  CudaDevice& device_;
  cuda::FunctionHandle handle_;
  const std::string& name_;  // of the device
  FunctionFacts facts_;
  static constexpr unsigned kSharedBytes = 48U << 10;  // static and dynamic, without opting in
  unsigned shared_bytes_ = 0;                          // dynamic ones that a launch may ask for
};

class CudaModule final : public Module {
 public:
  CudaModule(CudaDevice& device, std::span<const std::byte> image);
  ~CudaModule() override;

  const Function& function(std::string_view name, unsigned max_shared_bytes) override;

 private:
  std::string entries() const;

  CudaDevice& device_;
  cuda::ModuleHandle handle_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<CudaFunction>, std::less<>> functions_;  // guarded
};

}  // namespace kw::runtime
