// SPDX-License-Identifier: Apache-2.0
// Private: the part of the CUDA driver's interface that this backend calls, declared here and
// opened with dlopen, so that neither build nor start needs CUDA. Values and layouts are the
// driver's ABI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kw::runtime::cuda {

using DeviceId = int;
using Address = std::uint64_t;
using ContextHandle = struct OpaqueContext*;
using StreamHandle = struct OpaqueStream*;
using EventHandle = struct OpaqueEvent*;
using GraphHandle = struct OpaqueGraph*;
using GraphExecHandle = struct OpaqueGraphExec*;
using NodeHandle = struct OpaqueNode*;
using ModuleHandle = struct OpaqueModule*;
using FunctionHandle = struct OpaqueFunction*;

using Result = int;
inline constexpr Result kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidHandle = 400,
                        kNotFound = 500, kNotReady = 600, kNotSupported = 801,
                        kCaptureImplicit = 906;

// Of a device.
inline constexpr int kMultiprocessors = 16, kL2Bytes = 38, kMajor = 75, kMinor = 76,
                     kSharedBytesOptIn = 97, kVirtualMemory = 102;
// Of a function.
inline constexpr int kMaxBlockThreads = 0, kStaticSharedBytes = 1, kLocalBytes = 3, kRegisters = 4,
                     kMaxDynamicSharedBytes = 8, kNonPortableCluster = 14;

inline constexpr unsigned kHostAllocPortable = 1, kStreamNonBlocking = 1;
inline constexpr int kPointerMemoryType = 2;
inline constexpr int kCaptureThreadLocal = 1, kCaptureActive = 1;
inline constexpr int kNodeKernel = 0, kNodeCopy = 1, kNodeFill = 2, kNodeAllocate = 10,
                     kNodeFree = 11;

// Handles that name a stream without being one: of the calling thread.
inline StreamHandle per_thread_stream() noexcept { return reinterpret_cast<StreamHandle>(2); }

inline constexpr int kLaunchCooperative = 2, kLaunchClusterDimension = 4;
struct LaunchAttribute {
  int id;
  int padding;
  union {
    char bytes[64];
    unsigned cluster[3];
    int cooperative;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

// Of a kernel node; `parameters` are the graph's.
struct KernelNode {
  FunctionHandle function;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void** parameters;
  void** extra;
  void *kernel, *context;
};
static_assert(sizeof(KernelNode) == 72);

// Where memory is, and what it is made of.
inline constexpr int kLocationDevice = 1, kMemoryPinned = 1, kReadWrite = 3;
using MemoryHandle = unsigned long long;
struct MemoryLocation {
  int type, id;
};
struct MemoryProperties {
  int type, handle_types;
  MemoryLocation location;
  void* platform;
  unsigned char flags[8];
};
static_assert(sizeof(MemoryProperties) == 32);
struct MemoryAccess {
  MemoryLocation location;
  int flags;
};
static_assert(sizeof(MemoryAccess) == 12);

struct LaunchConfig {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56);

// Function names are the driver's in our spelling. Optional ones are newer than the oldest driver
// that works, 11.8, and may be null.
struct Driver {
  Result (*init)(unsigned);
  Result (*driver_version)(int*);
  Result (*error_name)(Result, const char**);
  Result (*error_string)(Result, const char**);

  Result (*device_count)(int*);
  Result (*device_get)(DeviceId*, int);
  Result (*device_name)(char*, int, DeviceId);
  Result (*device_attribute)(int*, int, DeviceId);
  Result (*primary_retain)(ContextHandle*, DeviceId);
  Result (*primary_release)(DeviceId);
  Result (*context_current)(ContextHandle*);
  Result (*context_push)(ContextHandle);
  Result (*context_pop)(ContextHandle*);

  Result (*memory_info)(std::size_t*, std::size_t*);
  Result (*allocate)(Address*, std::size_t);
  Result (*free)(Address);
  Result (*host_allocate)(void**, std::size_t, unsigned);
  Result (*host_free)(void*);
  Result (*copy)(Address, Address, std::size_t, StreamHandle);
  Result (*fill)(Address, unsigned char, std::size_t, StreamHandle);
  Result (*pointer_attribute)(void*, int, Address);

  Result (*stream_create)(StreamHandle*, unsigned);
  Result (*stream_destroy)(StreamHandle);
  Result (*stream_synchronize)(StreamHandle);
  Result (*stream_wait)(StreamHandle, EventHandle, unsigned);
  Result (*host_function)(StreamHandle, void (*)(void*), void*);
  Result (*event_create)(EventHandle*, unsigned);
  Result (*event_destroy)(EventHandle);
  Result (*event_record)(EventHandle, StreamHandle);
  Result (*event_synchronize)(EventHandle);
  Result (*event_elapsed)(float*, EventHandle, EventHandle);

  Result (*capture_begin)(StreamHandle, int);
  Result (*capture_end)(StreamHandle, GraphHandle*);
  Result (*capture_status)(StreamHandle, int*);
  Result (*graph_instantiate)(GraphExecHandle*, GraphHandle, unsigned long long);
  Result (*graph_launch)(GraphExecHandle, StreamHandle);
  Result (*graph_exec_destroy)(GraphExecHandle);
  Result (*graph_destroy)(GraphHandle);
  Result (*graph_nodes)(GraphHandle, NodeHandle*, std::size_t*);
  Result (*node_type)(NodeHandle, int*);
  Result (*kernel_node)(NodeHandle, KernelNode*);                    // optional
  Result (*kernel_node_attribute)(NodeHandle, int id, void* value);  // optional

  Result (*module_load)(ModuleHandle*, const void*);
  Result (*module_unload)(ModuleHandle);
  Result (*module_function)(FunctionHandle*, ModuleHandle, const char*);
  Result (*function_attribute)(int*, int, FunctionHandle);
  Result (*set_function_attribute)(FunctionHandle, int, int);
  Result (*occupancy)(int*, FunctionHandle, int, std::size_t);
  Result (*launch)(const LaunchConfig*, FunctionHandle, void**, void**);

  // Optional, for tests and measurement.
  Result (*memory_granularity)(std::size_t*, const MemoryProperties*, int);
  Result (*address_reserve)(Address*, std::size_t, std::size_t, Address, unsigned long long);
  Result (*address_free)(Address, std::size_t);
  Result (*memory_create)(MemoryHandle*, std::size_t, const MemoryProperties*, unsigned long long);
  Result (*memory_release)(MemoryHandle);
  Result (*memory_map)(Address, std::size_t, std::size_t, MemoryHandle, unsigned long long);
  Result (*memory_unmap)(Address, std::size_t);
  Result (*memory_access)(Address, std::size_t, const MemoryAccess*, std::size_t);
  Result (*reset_persisting_l2)();

  Result (*device_bus_address)(char*, int, DeviceId);                   // optional
  Result (*function_load)(FunctionHandle);                              // optional
  Result (*module_function_count)(unsigned*, ModuleHandle);             // optional
  Result (*module_functions)(FunctionHandle*, unsigned, ModuleHandle);  // optional
  Result (*function_name)(const char**, FunctionHandle);                // optional

  // "CUDA_ERROR_ILLEGAL_ADDRESS, an illegal memory access was encountered".
  std::string describe(Result result) const;
};

// The driver of this process, opened and initialised by the first call; stays open. `driver` is
// null when it cannot be used; then `absence` has the reason and the fix. Never throws.
struct Opening {
  const Driver* driver = nullptr;
  int version = 0;  // 13000 for 13.0; 0 without a library
  std::string absence;
};
const Opening& open_driver() noexcept;

// What open_driver() does, with a library of this name.
Opening open_driver_library(Driver& driver, const char* library);

}  // namespace kw::runtime::cuda
