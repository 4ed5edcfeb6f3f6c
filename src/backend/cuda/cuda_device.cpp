// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/backend/cuda/cuda_device.hpp"

#include <array>
#include <cstring>

#include "kernelwright/backend/cuda/cuda_architectures.hpp"
#include "kernelwright/backend/cuda/cuda_objects.hpp"
#include "kernelwright/base/fail.hpp"

namespace kw::runtime {

using cuda::Driver;
using cuda::kSuccess;
using cuda::Result;

namespace {

struct Inventory {
  std::vector<Hardware> devices;
  std::string absence;
};

Hardware describe_device(const Driver& driver, int index) {
  Hardware hardware;
  hardware.kind = DeviceKind::kCuda;
  hardware.index = index;
  cuda::DeviceId device = 0;
  if (driver.device_get(&device, index) != kSuccess) return hardware;
  std::array<char, 256> name{};
  driver.device_name(name.data(), static_cast<int>(name.size()) - 1, device);
  hardware.model = name.data();
  const auto attribute = [&](int which) {
    int value = 0;
    driver.device_attribute(&value, which, device);
    return value;
  };
  hardware.capability = 10 * attribute(cuda::kMajor) + attribute(cuda::kMinor);
  hardware.units = attribute(cuda::kMultiprocessors);
  hardware.last_level_cache_bytes = attribute(cuda::kL2Bytes);
  hardware.features = cuda_features(hardware.capability);
  return hardware;
}

Inventory take_inventory() {
  Inventory inventory;
  const cuda::Opening& opening = cuda::open_driver();
  inventory.absence = opening.absence;
  if (opening.driver == nullptr) return inventory;
  int count = 0;
  opening.driver->device_count(&count);
  for (int i = 0; i < count; ++i) {
    inventory.devices.push_back(describe_device(*opening.driver, i));
  }
  if (count == 0) {
    inventory.absence =
        "the driver shows no device; unset CUDA_VISIBLE_DEVICES, or start the container with its "
        "GPUs (docker run --gpus all)";
  }
  return inventory;
}

const Inventory& inventory() noexcept {
  static const Inventory taken = [] {
    try {
      return take_inventory();
    } catch (...) {  // memory ran out over a list of devices
      return Inventory{};
    }
  }();
  return taken;
}

const Hardware& find_device(int index) {
  const std::vector<Hardware>& devices = cuda_devices();
  if (index >= 0 && static_cast<std::size_t>(index) < devices.size()) {
    return devices[static_cast<std::size_t>(index)];
  }
  if (devices.empty()) fail(Code::kEnvironment, "no device cuda:{}: {}", index, cuda_absence());
  std::string there;
  for (const Hardware& hardware : devices) {
    there +=
        fmt::format("{}cuda:{} ({})", there.empty() ? "" : ", ", hardware.index, hardware.model);
  }
  fail(Code::kEnvironment, "no device cuda:{}; this machine has {}", index, there);
}

bool is_host_pageable(const Driver& driver, const void* data) {
  unsigned type = 0;
  return driver.pointer_attribute(&type, cuda::kPointerMemoryType, cuda::address_of(data)) !=
         kSuccess;
}

}  // namespace

const std::vector<Hardware>& cuda_devices() noexcept { return inventory().devices; }
const std::string& cuda_absence() noexcept { return inventory().absence; }
int cuda_driver_version() noexcept { return cuda::open_driver().version; }

std::string cuda_bus_address(int index) {
  const Driver* driver = cuda::open_driver().driver;
  cuda::DeviceId device = 0;
  std::array<char, 32> address{};
  if (driver == nullptr || driver->device_bus_address == nullptr ||
      driver->device_get(&device, index) != kSuccess ||
      driver->device_bus_address(address.data(), static_cast<int>(address.size()) - 1, device) !=
          kSuccess)
    return {};
  return address.data();
}

CudaDevice::PrimaryContext::PrimaryContext(const Driver& the_driver, int index)
    : driver(the_driver) {
  cuda::ContextHandle context = nullptr;
  Result result = driver.device_get(&device, index);
  if (result == kSuccess) result = driver.primary_retain(&context, device);
  if (result != kSuccess) {
    fail(Code::kEnvironment,
         "cannot open cuda:{}: {}; `nvidia-smi` says what else runs there and whether the device "
         "is set to exclusive use",
         index, driver.describe(result));
  }
  handle = context;
}

CudaDevice::PrimaryContext::~PrimaryContext() { driver.primary_release(device); }

CudaDevice::CudaDevice(int index)
    : hardware_(find_device(index)), context_(*cuda::open_driver().driver, index), pool_(*this) {}

CudaDevice::~CudaDevice() = default;

std::string CudaDevice::failure(std::string_view what, int result) const {
  const std::string* last = last_launched_.load(std::memory_order_relaxed);
  return fmt::format(
      "{} cannot {}: {}; {}", name(), what, context_.driver.describe(result),
      last == nullptr ? "no plan was launched before" : "the last plan launched is " + *last);
}

void CudaDevice::check(int result, std::string_view what) const {
  if (result != kSuccess) fail_text(Code::kEnvironment, failure(what, result));
}

const std::string& CudaDevice::interned(std::string_view name) {
  const std::lock_guard lock(names_mutex_);
  return *names_.emplace(name).first;
}

bool CudaDevice::is_capturing(void* stream) const noexcept {
  const Guard guard(*this);
  int status = 0;
  const Result result = context_.driver.capture_status(cuda::stream_of(stream), &status);
  return result == cuda::kCaptureImplicit || (result == kSuccess && status == cuda::kCaptureActive);
}

void CudaDevice::reserve_workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) {
  if (stream == cuda::per_thread_stream()) {
    fail(Code::kInvalidArgument,
         "{}: the handle of the per-thread default stream names another stream in every thread and "
         "cannot own a workspace; pass a stream that you created, or null",
         name());
  }
  pool_.reserve(stream, stream, bytes, zeroed_bytes);
}

MemoryInfo CudaDevice::memory_info() const {
  const Guard guard(*this);
  std::size_t available = 0, total = 0;
  check(context_.driver.memory_info(&available, &total), "tell its memory");
  return {static_cast<std::int64_t>(total), static_cast<std::int64_t>(available)};
}

void* CudaDevice::allocate(std::int64_t bytes, MemoryKind kind) {
  const Guard guard(*this);
  const auto size = static_cast<std::size_t>(bytes);
  void* data = nullptr;
  Result result = kSuccess;
  if (kind == MemoryKind::kHostPinned) {
    result = context_.driver.host_allocate(&data, size, cuda::kHostAllocPortable);
  } else {
    cuda::Address address = 0;
    result = context_.driver.allocate(&address, size);
    data = cuda::pointer_of(address);
  }
  if (result == cuda::kOutOfMemory && kind == MemoryKind::kDevice) {
    const MemoryInfo memory = memory_info();
    fail(Code::kEnvironment, "cannot allocate {} bytes on {}: {} of {} are available", bytes,
         name(), memory.free_bytes, memory.total_bytes);
  }
  check(result, fmt::format("allocate {} bytes{}", bytes,
                            kind == MemoryKind::kHostPinned ? " of pinned host memory" : ""));
  return data;
}

void CudaDevice::deallocate(void* data, MemoryKind kind) noexcept {
  const Guard guard(*this);
  if (kind == MemoryKind::kHostPinned) {
    context_.driver.host_free(data);
  } else {
    context_.driver.free(cuda::address_of(data));
  }
}

void CudaDevice::copy(void* destination, const void* source, std::int64_t bytes, void* stream) {
  if (bytes <= 0) return;
  const Guard guard(*this);
  check(context_.driver.copy(cuda::address_of(destination), cuda::address_of(source),
                             static_cast<std::size_t>(bytes), cuda::stream_of(stream)),
        fmt::format("copy {} bytes", bytes));
}

void CudaDevice::fill(void* destination, std::uint8_t value, std::int64_t bytes, void* stream) {
  if (bytes <= 0) return;
  const Guard guard(*this);
  if (is_host_pageable(context_.driver, destination)) {
    synchronize(stream);
    std::memset(destination, value, static_cast<std::size_t>(bytes));
    return;
  }
  check(context_.driver.fill(cuda::address_of(destination), value, static_cast<std::size_t>(bytes),
                             cuda::stream_of(stream)),
        fmt::format("fill {} bytes", bytes));
}

void* CudaDevice::create_stream() {
  const Guard guard(*this);
  cuda::StreamHandle stream = nullptr;
  check(context_.driver.stream_create(&stream, cuda::kStreamNonBlocking), "create a stream");
  return stream;
}

void CudaDevice::destroy_stream(void* stream) noexcept {
  const Guard guard(*this);
  context_.driver.stream_synchronize(cuda::stream_of(stream));
  pool_.release(stream);
  if (stream != nullptr) context_.driver.stream_destroy(cuda::stream_of(stream));
}

void CudaDevice::synchronize(void* stream) {
  const Guard guard(*this);
  check(context_.driver.stream_synchronize(cuda::stream_of(stream)), "finish the work of a stream");
}

std::unique_ptr<Event> CudaDevice::create_event() { return std::make_unique<CudaEvent>(*this); }

void CudaDevice::begin_capture(void* stream) {
  if (stream == nullptr) {
    fail(Code::kInvalidArgument,
         "{}: the default stream cannot be captured; capture on a stream of its own (OwnedStream)",
         name());
  }
  if (is_capturing(stream)) {
    fail(Code::kConflict, "{}: the stream is capturing already; end that capture first", name());
  }
  const Guard guard(*this);
  check(context_.driver.capture_begin(cuda::stream_of(stream), cuda::kCaptureThreadLocal),
        "begin a capture");
}

std::unique_ptr<Graph> CudaDevice::end_capture(void* stream) {
  const Guard guard(*this);
  cuda::GraphHandle graph = nullptr;
  check(context_.driver.capture_end(cuda::stream_of(stream), &graph), "end a capture");
  return std::make_unique<CudaGraph>(*this, graph);
}

void CudaDevice::cancel_capture(void* stream) noexcept {
  const Guard guard(*this);
  cuda::GraphHandle graph = nullptr;
  context_.driver.capture_end(cuda::stream_of(stream), &graph);
  if (graph != nullptr) context_.driver.graph_destroy(graph);
}

std::unique_ptr<Module> CudaDevice::load_module(std::span<const std::byte> image) {
  return std::make_unique<CudaModule>(*this, image);
}

}  // namespace kw::runtime
