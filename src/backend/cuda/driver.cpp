// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/backend/cuda/driver.hpp"

#include <dlfcn.h>

#include <fmt/format.h>

namespace kw::runtime::cuda {
namespace {

constexpr int kOldestVersion = 11080;  // the first with clusters, and with every name below
constexpr Result kNoDevice = 100, kStubLibrary = 34, kVersionMismatch = 803,
                 kCompatNotSupported = 804;

// Names whose plain spelling is an old ABI carry their suffix.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  template <typename Function>
  void need(Function*& function, const char* name) {
    optional(function, name);
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  template <typename Function>
  void optional(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(::dlsym(library_, name));
  }
  const std::string& missing() const noexcept { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

void find_all(Driver& d, Symbols& symbols) {
  symbols.need(d.init, "cuInit");
  symbols.need(d.driver_version, "cuDriverGetVersion");
  symbols.need(d.error_name, "cuGetErrorName");
  symbols.need(d.error_string, "cuGetErrorString");
  symbols.need(d.device_count, "cuDeviceGetCount");
  symbols.need(d.device_get, "cuDeviceGet");
  symbols.need(d.device_name, "cuDeviceGetName");
  symbols.need(d.device_attribute, "cuDeviceGetAttribute");
  symbols.need(d.primary_retain, "cuDevicePrimaryCtxRetain");
  symbols.need(d.primary_release, "cuDevicePrimaryCtxRelease_v2");
  symbols.need(d.context_current, "cuCtxGetCurrent");
  symbols.need(d.context_push, "cuCtxPushCurrent_v2");
  symbols.need(d.context_pop, "cuCtxPopCurrent_v2");
  symbols.need(d.memory_info, "cuMemGetInfo_v2");
  symbols.need(d.allocate, "cuMemAlloc_v2");
  symbols.need(d.free, "cuMemFree_v2");
  symbols.need(d.host_allocate, "cuMemHostAlloc");
  symbols.need(d.host_free, "cuMemFreeHost");
  symbols.need(d.copy, "cuMemcpyAsync");
  symbols.need(d.fill, "cuMemsetD8Async");
  symbols.need(d.pointer_attribute, "cuPointerGetAttribute");
  symbols.need(d.stream_create, "cuStreamCreate");
  symbols.need(d.stream_destroy, "cuStreamDestroy_v2");
  symbols.need(d.stream_synchronize, "cuStreamSynchronize");
  symbols.need(d.stream_wait, "cuStreamWaitEvent");
  symbols.need(d.host_function, "cuLaunchHostFunc");
  symbols.need(d.event_create, "cuEventCreate");
  symbols.need(d.event_destroy, "cuEventDestroy_v2");
  symbols.need(d.event_record, "cuEventRecord");
  symbols.need(d.event_synchronize, "cuEventSynchronize");
  symbols.need(d.event_elapsed, "cuEventElapsedTime");
  symbols.need(d.capture_begin, "cuStreamBeginCapture_v2");
  symbols.need(d.capture_end, "cuStreamEndCapture");
  symbols.need(d.capture_status, "cuStreamIsCapturing");
  symbols.need(d.graph_instantiate, "cuGraphInstantiateWithFlags");
  symbols.need(d.graph_launch, "cuGraphLaunch");
  symbols.need(d.graph_exec_destroy, "cuGraphExecDestroy");
  symbols.need(d.graph_destroy, "cuGraphDestroy");
  symbols.need(d.graph_nodes, "cuGraphGetNodes");
  symbols.need(d.node_type, "cuGraphNodeGetType");
  symbols.need(d.module_load, "cuModuleLoadData");
  symbols.need(d.module_unload, "cuModuleUnload");
  symbols.need(d.module_function, "cuModuleGetFunction");
  symbols.need(d.function_attribute, "cuFuncGetAttribute");
  symbols.need(d.set_function_attribute, "cuFuncSetAttribute");
  symbols.need(d.occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  symbols.need(d.launch, "cuLaunchKernelEx");
  symbols.optional(d.memory_granularity, "cuMemGetAllocationGranularity");
  symbols.optional(d.address_reserve, "cuMemAddressReserve");
  symbols.optional(d.address_free, "cuMemAddressFree");
  symbols.optional(d.memory_create, "cuMemCreate");
  symbols.optional(d.memory_release, "cuMemRelease");
  symbols.optional(d.memory_map, "cuMemMap");
  symbols.optional(d.memory_unmap, "cuMemUnmap");
  symbols.optional(d.memory_access, "cuMemSetAccess");
  symbols.optional(d.reset_persisting_l2, "cuCtxResetPersistingL2Cache");
  symbols.optional(d.device_bus_address, "cuDeviceGetPCIBusId");
  symbols.optional(d.kernel_node, "cuGraphKernelNodeGetParams_v2");
  symbols.optional(d.kernel_node_attribute, "cuGraphKernelNodeGetAttribute");
  symbols.optional(d.function_load, "cuFuncLoad");
  symbols.optional(d.module_function_count, "cuModuleGetFunctionCount");
  symbols.optional(d.module_functions, "cuModuleEnumerateFunctions");
  symbols.optional(d.function_name, "cuFuncGetName");
}

const char* init_remedy(Result result) {
  switch (result) {
    case kNoDevice:
      return "the driver shows no device: unset CUDA_VISIBLE_DEVICES, or start the container with "
             "its GPUs (docker run --gpus all)";
    case kStubLibrary:
      return "this is the toolkit's stub: take it out of LD_LIBRARY_PATH, so that the driver's own "
             "library is found";
    case kVersionMismatch:
    case kCompatNotSupported:
    case kNotSupported:
      return "library and kernel module are of different drivers: take compatibility libraries out "
             "of LD_LIBRARY_PATH, or reboot after a driver update";
    default:
      return "`nvidia-smi` must list the device first; look at `dmesg`, and at the rights of "
             "/dev/nvidia*";
  }
}

}  // namespace

std::string Driver::describe(Result result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (error_name(result, &name) != kSuccess || error_string(result, &text) != kSuccess) {
    return fmt::format("CUDA error {}", result);
  }
  return fmt::format("{}, {}", name, text);
}

Opening open_driver_library(Driver& driver, const char* library) {
  Opening opening;
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    opening.absence = fmt::format(
        "no NVIDIA driver: {}; install the driver, or start the container with its GPUs (docker "
        "run --gpus all)",
        why == nullptr ? library : why);
    return opening;
  }
  Symbols symbols(handle);
  find_all(driver, symbols);
  if (driver.driver_version != nullptr) driver.driver_version(&opening.version);
  const std::string version =
      fmt::format("{}.{}", opening.version / 1000, opening.version % 1000 / 10);
  if (!symbols.missing().empty() || opening.version < kOldestVersion) {
    opening.absence = fmt::format(
        "{} is a driver for CUDA {}{}; kernelwright needs one for 11.8 or later (r520)", library,
        version, symbols.missing().empty() ? "" : ", without " + symbols.missing());
    return opening;
  }
  if (const Result result = driver.init(0); result != kSuccess) {
    opening.absence = fmt::format("the driver for CUDA {} does not start: {}; {}", version,
                                  driver.describe(result), init_remedy(result));
    return opening;
  }
  opening.driver = &driver;
  return opening;
}

const Opening& open_driver() noexcept {
  static Driver driver{};
  static const Opening opening = [] {
    try {
      return open_driver_library(driver, "libcuda.so.1");
    } catch (...) {  // memory ran out over a message
      return Opening{};
    }
  }();
  return opening;
}

}  // namespace kw::runtime::cuda
