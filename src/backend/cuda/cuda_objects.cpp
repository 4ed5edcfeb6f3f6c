// SPDX-License-Identifier: Apache-2.0
// Events, graphs, modules and launches of a CUDA device.
#include "kernelwright/backend/cuda/cuda_objects.hpp"

#include <vector>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"

namespace kw::runtime {

using cuda::kSuccess;
using cuda::Result;

CudaEvent::CudaEvent(CudaDevice& device) : Event(device), device_(device) {
  const CudaDevice::Guard guard(device_);
  device_.check(device_.context_.driver.event_create(&handle_, 0), "create an event");
}

CudaEvent::~CudaEvent() {
  const CudaDevice::Guard guard(device_);
  device_.context_.driver.event_destroy(handle_);
}

void CudaEvent::record(void* stream) {
  const CudaDevice::Guard guard(device_);
  device_.check(device_.context_.driver.event_record(handle_, cuda::stream_of(stream)),
                "record an event");
}

void CudaEvent::block(void* stream) {
  const CudaDevice::Guard guard(device_);
  device_.check(device_.context_.driver.stream_wait(cuda::stream_of(stream), handle_, 0),
                "make a stream wait for an event");
}

void CudaEvent::synchronize() {
  const CudaDevice::Guard guard(device_);
  device_.check(device_.context_.driver.event_synchronize(handle_), "wait for an event");
}

double CudaEvent::elapsed_ns(const Event& start) const {
  const CudaDevice::Guard guard(device_);
  float milliseconds = 0;
  const Result result = device_.context_.driver.event_elapsed(
      &milliseconds, static_cast<const CudaEvent&>(start).handle_, handle_);
  if (result == cuda::kNotReady || result == cuda::kInvalidHandle) {
    fail(Code::kInvalidArgument,
         "{}: elapsed time of an event that was never recorded or is not reached; record both and "
         "synchronize first",
         device_.name());
  }
  device_.check(result, "tell the time between events");
  return 1e6 * static_cast<double>(milliseconds);
}

CudaGraph::CudaGraph(CudaDevice& device, cuda::GraphHandle graph) : device_(device), graph_(graph) {
  const CudaDevice::Guard guard(device_);
  const Result result = device_.context_.driver.graph_instantiate(&executable_, graph_, 0);
  if (result == kSuccess) {
    nodes_ = count_nodes();
    return;
  }
  device_.context_.driver.graph_destroy(graph_);
  device_.check(result, "make a captured graph ready");
}

CudaGraph::~CudaGraph() {
  const CudaDevice::Guard guard(device_);
  device_.context_.driver.graph_exec_destroy(executable_);
  device_.context_.driver.graph_destroy(graph_);
}

void CudaGraph::launch(void* stream) {
  const CudaDevice::Guard guard(device_);
  device_.check(device_.context_.driver.graph_launch(executable_, cuda::stream_of(stream)),
                "launch a graph");
}

std::vector<cuda::NodeHandle> CudaGraph::node_handles() const {
  const cuda::Driver& driver = device_.context_.driver;
  std::size_t count = 0;
  if (driver.graph_nodes(graph_, nullptr, &count) != kSuccess || count == 0) return {};
  std::vector<cuda::NodeHandle> handles(count);
  if (driver.graph_nodes(graph_, handles.data(), &count) != kSuccess) return {};
  return handles;
}

std::unique_ptr<RawLaunches::ThreadScope> CudaGraph::make_current() {
  struct Current final : ThreadScope {
    explicit Current(const CudaDevice& device) : guard(device) {}
    const CudaDevice::Guard guard;
  };
  return std::make_unique<Current>(device_);
}

bool CudaGraph::launch_kernels(void* stream) {
  if (kernels_.empty()) list_kernels();
  for (KernelLaunch& kernel : kernels_) {
    kernel.config.stream = cuda::stream_of(stream);
    device_.check(device_.context_.driver.launch(&kernel.config, kernel.node.function,
                                                 kernel.node.parameters, nullptr),
                  "launch a captured kernel");
  }
  return !kernels_.empty();
}

void CudaGraph::list_kernels() {
  const CudaDevice::Guard guard(device_);
  const cuda::Driver& driver = device_.context_.driver;
  if (driver.kernel_node == nullptr || driver.kernel_node_attribute == nullptr ||
      nodes_.kernels != nodes_.total())
    return;
  std::vector<KernelLaunch> kernels;
  kernels.reserve(static_cast<std::size_t>(nodes_.kernels));  // configs point at attributes
  for (const cuda::NodeHandle handle : node_handles()) {
    KernelLaunch& kernel = kernels.emplace_back();
    cuda::KernelNode& node = kernel.node;
    kernel.cluster.id = cuda::kLaunchClusterDimension;
    if (driver.kernel_node(handle, &node) != kSuccess || node.function == nullptr ||
        driver.kernel_node_attribute(handle, kernel.cluster.id, &kernel.cluster.value) != kSuccess)
      return;
    const bool clustered = kernel.cluster.value.cluster[0] > 1;
    kernel.config = {{node.grid[0], node.grid[1], node.grid[2]},
                     {node.block[0], node.block[1], node.block[2]},
                     node.shared_bytes,
                     nullptr,
                     &kernel.cluster,
                     clustered ? 1U : 0U};
  }
  kernels_ = std::move(kernels);
}

GraphNodes CudaGraph::count_nodes() const {
  const cuda::Driver& driver = device_.context_.driver;
  GraphNodes nodes;
  for (const cuda::NodeHandle handle : node_handles()) {
    int type = -1;
    driver.node_type(handle, &type);
    switch (type) {
      case cuda::kNodeKernel:
        ++nodes.kernels;
        break;
      case cuda::kNodeCopy:
        ++nodes.copies;
        break;
      case cuda::kNodeFill:
        ++nodes.fills;
        break;
      case cuda::kNodeAllocate:
      case cuda::kNodeFree:
        ++nodes.allocations;
        break;
      default:
        ++nodes.others;
    }
  }
  return nodes;
}

CudaFunction::CudaFunction(CudaDevice& device, cuda::FunctionHandle handle, std::string_view name)
    : device_(device), handle_(handle), name_(device.interned(name)) {
  const cuda::Driver& driver = device_.context_.driver;
  // Lazily loaded code would be loaded by the first launch, which may be captured or timed.
  if (driver.function_load != nullptr) {
    device_.check(driver.function_load(handle_), "load " + name_);
  }
  facts_ = {attribute(cuda::kRegisters), attribute(cuda::kLocalBytes),
            attribute(cuda::kStaticSharedBytes), attribute(cuda::kMaxBlockThreads)};
  const auto fixed = static_cast<unsigned>(facts_.static_shared_bytes);
  shared_bytes_ = kSharedBytes > fixed ? kSharedBytes - fixed : 0;
  if (device_.hardware().capability >= 90) {
    device_.check(driver.set_function_attribute(handle_, cuda::kNonPortableCluster, 1),
                  "allow clusters of 16 to " + name_);
  }
}

int CudaFunction::attribute(int which) const {
  int value = 0;
  device_.check(device_.context_.driver.function_attribute(&value, which, handle_),
                "describe " + name_);
  return value;
}

void CudaFunction::allow_shared(unsigned bytes) {
  if (bytes <= shared_bytes_) return;
  const cuda::Driver& driver = device_.context_.driver;
  int most = 0;
  device_.check(driver.device_attribute(&most, cuda::kSharedBytesOptIn, device_.context_.device),
                "tell its shared memory");
  const int whole = static_cast<int>(bytes) + facts_.static_shared_bytes;
  if (whole > most) {
    fail(Code::kUnsupported,
         "{} needs {} bytes of shared memory a block, {} has {}; pin a smaller geometry with --cfg",
         name_, whole, device_.name(), most);
  }
  device_.check(
      driver.set_function_attribute(handle_, cuda::kMaxDynamicSharedBytes, static_cast<int>(bytes)),
      "give shared memory to " + name_);
  shared_bytes_ = bytes;
}

int CudaFunction::resident_blocks(const LaunchShape& shape) const {
  const CudaDevice::Guard guard(device_);
  const unsigned threads = shape.block.x * shape.block.y * shape.block.z;
  int blocks = 0;
  device_.check(device_.context_.driver.occupancy(&blocks, handle_, static_cast<int>(threads),
                                                  shape.shared_bytes),
                "count resident blocks of " + name_);
  return blocks;
}

Status CudaFunction::launch(const LaunchShape& shape, const void* arguments, std::size_t,
                            void* stream) const noexcept {
  const CudaDevice::Guard guard(device_);
  cuda::LaunchAttribute attributes[2];
  unsigned count = 0;
  if (shape.cluster.x * shape.cluster.y * shape.cluster.z > 1) {
    attributes[count].id = cuda::kLaunchClusterDimension;
    attributes[count].value.cluster[0] = shape.cluster.x;
    attributes[count].value.cluster[1] = shape.cluster.y;
    attributes[count].value.cluster[2] = shape.cluster.z;
    ++count;
  }
  if (shape.cooperative) {
    attributes[count].id = cuda::kLaunchCooperative;
    attributes[count].value.cooperative = 1;
    ++count;
  }
  const cuda::LaunchConfig config{{shape.grid.x, shape.grid.y, shape.grid.z},
                                  {shape.block.x, shape.block.y, shape.block.z},
                                  shape.shared_bytes,
                                  cuda::stream_of(stream),
                                  attributes,
                                  count};
  void* parameters[] = {const_cast<void*>(arguments)};
  const Result result = device_.context_.driver.launch(&config, handle_, parameters, nullptr);
  if (result != kSuccess) {
    try {
      return failed(StatusCode::kDevice, device_.failure("launch " + name_, result));
    } catch (...) {
      return {StatusCode::kDevice};
    }
  }
  device_.last_launched_.store(&name_, std::memory_order_relaxed);
  return {};
}

CudaModule::CudaModule(CudaDevice& device, std::span<const std::byte> image) : device_(device) {
  const CudaDevice::Guard guard(device_);
  device_.check(device_.context_.driver.module_load(&handle_, image.data()),
                fmt::format("load a module of {} bytes", image.size()));
}

CudaModule::~CudaModule() {
  const CudaDevice::Guard guard(device_);
  device_.context_.driver.module_unload(handle_);
}

const Function& CudaModule::function(std::string_view name, unsigned max_shared_bytes) {
  const CudaDevice::Guard guard(device_);
  const std::lock_guard lock(mutex_);
  auto found = functions_.find(name);
  if (found == functions_.end()) {
    cuda::FunctionHandle handle = nullptr;
    const std::string entry(name);
    const Result result = device_.context_.driver.module_function(&handle, handle_, entry.c_str());
    if (result == cuda::kNotFound) {
      fail(Code::kNotFound, "the module has no entry '{}'; it has {}", name, entries());
    }
    device_.check(result, "look up " + entry);
    found = functions_.emplace(entry, std::make_unique<CudaFunction>(device_, handle, name)).first;
  }
  found->second->allow_shared(max_shared_bytes);
  return *found->second;
}

std::string CudaModule::entries() const {
  const cuda::Driver& driver = device_.context_.driver;
  unsigned count = 0;
  if (driver.module_functions == nullptr || driver.module_function_count == nullptr ||
      driver.function_name == nullptr ||
      driver.module_function_count(&count, handle_) != kSuccess) {
    return "others, which this driver does not list";
  }
  std::vector<cuda::FunctionHandle> handles(count);
  if (driver.module_functions(handles.data(), count, handle_) != kSuccess) return "others";
  std::vector<std::string> names;
  for (const cuda::FunctionHandle handle : handles) {
    const char* entry = nullptr;
    if (driver.function_name(&entry, handle) == kSuccess) names.emplace_back(entry);
  }
  return names.empty() ? "none" : join(names);
}

}  // namespace kw::runtime
