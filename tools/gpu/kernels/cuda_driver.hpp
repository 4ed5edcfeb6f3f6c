// SPDX-License-Identifier: Apache-2.0
// The few driver calls that the kernel tool makes, opened by dlopen: a checked call, memory,
// launch, graph timing. One context, one stream.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace kw::gpu_tool {

class Driver {
 public:
  Driver() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW);
    if (library_ == nullptr) throw std::runtime_error("no libcuda.so.1: no NVIDIA driver here");
    run("cuInit", 0U);
    CUcontext context = nullptr;
    run("cuDeviceGet", &device, 0);
    run("cuDevicePrimaryCtxRetain", &context, device);
    run("cuCtxSetCurrent", context);
    run("cuStreamCreate", &stream, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  }

  // Calls `name`, which returns CUresult.
  template <typename... Parameters>
  void run(const char* name, Parameters... parameters) const {
    const auto function = reinterpret_cast<CUresult (*)(Parameters...)>(symbol(name));
    const CUresult result = function(parameters...);
    if (result == CUDA_SUCCESS) return;
    const auto text_of =
        reinterpret_cast<CUresult (*)(CUresult, const char**)>(symbol("cuGetErrorName"));
    const char* text = "?";
    text_of(result, &text);
    throw std::runtime_error(std::string(name) + ": " + text);
  }

  int attribute(CUdevice_attribute which) const {
    int value = 0;
    run("cuDeviceGetAttribute", &value, which, device);
    return value;
  }

  void synchronize() const { run("cuStreamSynchronize", stream); }

  CUdevice device = 0;
  CUstream stream = nullptr;

 private:
  void* symbol(const char* name) const {
    // The entries whose plain name is an old ABI.
    static constexpr const char* kVersioned[][2] = {
        {"cuMemAlloc", "cuMemAlloc_v2"},
        {"cuMemFree", "cuMemFree_v2"},
        {"cuMemcpyHtoD", "cuMemcpyHtoD_v2"},
        {"cuMemcpyDtoH", "cuMemcpyDtoH_v2"},
        {"cuMemsetD32", "cuMemsetD32_v2"},
        {"cuMemcpyDtoDAsync", "cuMemcpyDtoDAsync_v2"},
        {"cuStreamBeginCapture", "cuStreamBeginCapture_v2"}};
    const char* exact = name;
    for (const auto& pair : kVersioned) {
      if (std::string(pair[0]) == name) exact = pair[1];
    }
    void* found = dlsym(library_, exact);
    if (found == nullptr) throw std::runtime_error(std::string("libcuda lacks ") + exact);
    return found;
  }

  void* library_ = nullptr;
};

// Device memory; freed with the value. `poison` fills it with NaN bits.
class Memory {
 public:
  Memory() = default;
  Memory(const Driver& driver, std::size_t bytes) : driver_(&driver), bytes_(bytes) {
    driver.run("cuMemAlloc", &address_, std::max<std::size_t>((bytes + 15) / 16 * 16, 16));
  }
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Memory() {
    try {
      if (address_ != 0) driver_->run("cuMemFree", address_);
    } catch (const std::exception&) {  // a failed context: nothing to give back
    }
  }

  void poison() const {
    if (bytes_ > 0) driver_->run("cuMemsetD32", address_, 0xffffffffU, (bytes_ + 15) / 16 * 4);
  }
  void upload(const void* from, std::size_t bytes) const {
    if (bytes > 0) driver_->run("cuMemcpyHtoD", address_, from, bytes);
  }
  void download(void* to, std::size_t bytes, std::size_t offset = 0) const {
    if (bytes > 0) driver_->run("cuMemcpyDtoH", to, address_ + offset, bytes);
  }
  CUdeviceptr address() const { return address_; }
  template <typename T = void>
  T* as(std::size_t offset_bytes = 0) const {
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address_) + offset_bytes);
  }

 private:
  const Driver* driver_ = nullptr;
  CUdeviceptr address_ = 0;
  std::size_t bytes_ = 0;
};

class Module {
 public:
  Module(const Driver& driver, const std::string& cubin) : driver_(driver) {
    driver.run("cuModuleLoadData", &module_, static_cast<const void*>(cubin.data()));
  }
  Module(const Module&) = delete;
  ~Module() {
    try {
      driver_.run("cuModuleUnload", module_);
    } catch (const std::exception&) {
    }
  }

  CUfunction function(const char* name, int shared_bytes, int cluster) const {
    CUfunction function = nullptr;
    driver_.run("cuModuleGetFunction", &function, module_, name);
    if (shared_bytes > 48 * 1024) {
      driver_.run("cuFuncSetAttribute", function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                  shared_bytes);
    }
    if (cluster > 8) {
      driver_.run("cuFuncSetAttribute", function,
                  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    }
    return function;
  }

 private:
  const Driver& driver_;
  CUmodule module_ = nullptr;
};

struct Launch {
  CUfunction function = nullptr;
  long long grid = 0;
  int threads = 0, shared_bytes = 0, cluster = 1;

  void operator()(const Driver& driver, const void* args) const {
    if (grid == 0) return;
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = static_cast<unsigned>(cluster);
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    CUlaunchConfig config = {};
    config.gridDimX = static_cast<unsigned>(grid);
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = static_cast<unsigned>(threads);
    config.sharedMemBytes = static_cast<unsigned>(shared_bytes);
    config.hStream = driver.stream;
    config.attrs = &attribute;
    config.numAttrs = cluster > 1 ? 1 : 0;
    void* parameters[] = {const_cast<void*>(args)};
    driver.run("cuLaunchKernelEx", static_cast<const CUlaunchConfig*>(&config), function,
               static_cast<void**>(parameters), static_cast<void**>(nullptr));
  }
};

// Milliseconds of one call of `enqueue(i)`, i = 0 .. calls - 1 captured in a graph: the median of
// `repeats` replays. `calls` walks all rotated buffers at least once.
inline double graph_ms(const Driver& driver, int calls, int repeats,
                       const std::function<void(int)>& enqueue) {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CUevent begin = nullptr, end = nullptr;
  driver.run("cuStreamBeginCapture", driver.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  for (int i = 0; i < calls; ++i) enqueue(i);
  driver.run("cuStreamEndCapture", driver.stream, &graph);
  driver.run("cuGraphInstantiateWithFlags", &executable, graph, 0ULL);
  driver.run("cuEventCreate", &begin, 0U);
  driver.run("cuEventCreate", &end, 0U);
  std::vector<float> times;
  for (int i = 0; i < repeats + 2; ++i) {
    driver.run("cuEventRecord", begin, driver.stream);
    driver.run("cuGraphLaunch", executable, driver.stream);
    driver.run("cuEventRecord", end, driver.stream);
    driver.run("cuEventSynchronize", end);
    float ms = 0;
    driver.run("cuEventElapsedTime", &ms, begin, end);
    if (i >= 2) times.push_back(ms);
  }
  driver.run("cuEventDestroy_v2", begin);
  driver.run("cuEventDestroy_v2", end);
  driver.run("cuGraphExecDestroy", executable);
  driver.run("cuGraphDestroy", graph);
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  return times[times.size() / 2] / calls;
}

}  // namespace kw::gpu_tool
