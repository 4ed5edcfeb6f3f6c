// SPDX-License-Identifier: Apache-2.0
#include "support/fake_device.hpp"

#include <cstring>
#include <new>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/runtime/raw_launches.hpp"

namespace kw::test {

using runtime::Event;
using runtime::FunctionFacts;
using runtime::Graph;
using runtime::GraphNodes;
using runtime::LaunchShape;
using runtime::MemoryInfo;
using runtime::MemoryKind;
using runtime::Module;

namespace {

constexpr unsigned kMaxBlockThreads = 1024;
constexpr std::align_val_t kAlignment{static_cast<std::size_t>(runtime::kMemoryAlignment)};
constexpr std::string_view kImageMagic = "fake image\n";

}  // namespace

// Its time outlives it: a graph may hold a captured record().
class FakeEvent final : public Event {
 public:
  explicit FakeEvent(FakeDevice& device)
      : Event(device), device_(device), time_(std::make_shared<std::optional<double>>()) {}

  void record(void* stream) override {
    device_.submit(stream, {&GraphNodes::others, [time = time_](auto& s) { *time = s.now_ns; }});
  }
  void block(void* stream) override {
    device_.submit(stream, {&GraphNodes::others, [time = time_](auto& s) {
                              s.now_ns = std::max(s.now_ns, time->value_or(0));
                            }});
  }
  void synchronize() override {
    const std::lock_guard lock(device_.mutex_);
    ++device_.calls_.synchronizations;
  }

 private:
  double elapsed_ns(const Event& start) const override {
    const auto& from = static_cast<const FakeEvent&>(start);
    const std::lock_guard lock(device_.mutex_);
    if (!*time_ || !*from.time_) {
      fail(Code::kInvalidArgument, "elapsed time of an event on {} that was never recorded",
           device_.name());
    }
    return **time_ - **from.time_;
  }

  FakeDevice& device_;
  std::shared_ptr<std::optional<double>> time_;
};

class FakeGraph final : public Graph, public runtime::RawLaunches {
 public:
  FakeGraph(FakeDevice& device, std::vector<FakeDevice::Node> nodes)
      : device_(device),
        nodes_(std::make_shared<std::vector<FakeDevice::Node>>(std::move(nodes))) {}

  void launch(void* stream) override {
    const std::lock_guard lock(device_.mutex_);
    ++device_.calls_.graph_launches;
    device_.submit(stream, {&GraphNodes::others, [nodes = nodes_](auto& s) {
                              for (const auto& node : *nodes) s.run(node);
                            }});
  }
  GraphNodes nodes() const override {
    GraphNodes count;
    for (const auto& node : *nodes_) ++(count.*node.kind);
    return count;
  }
  std::unique_ptr<ThreadScope> make_current() override { return nullptr; }
  bool launch_kernels(void* stream) override {
    if (nodes().kernels != nodes().total()) return false;
    launch(stream);
    return true;
  }

 private:
  FakeDevice& device_;
  std::shared_ptr<const std::vector<FakeDevice::Node>> nodes_;
};

class FakeFunction final : public runtime::Function {
 public:
  FakeFunction(FakeDevice& device, FakeKernel kernel, unsigned max_shared_bytes)
      : device_(device), kernel_(std::move(kernel)), max_shared_bytes_(max_shared_bytes) {}

  FunctionFacts facts() const noexcept override { return {32, 0, 0, kMaxBlockThreads}; }
  int resident_blocks(const LaunchShape& shape) const override {
    const unsigned threads = shape.block.x * shape.block.y * shape.block.z;
    return static_cast<int>(2 * kMaxBlockThreads / std::max(1U, threads));
  }
  Status launch(const LaunchShape& shape, const void* arguments, std::size_t argument_bytes,
                void* stream) const noexcept override {
    const unsigned threads = shape.block.x * shape.block.y * shape.block.z;
    if (threads == 0 || threads > kMaxBlockThreads || shape.grid.x == 0 || shape.grid.y == 0 ||
        shape.grid.z == 0 || shape.shared_bytes > max_shared_bytes_) {
      return failed(
          StatusCode::kDevice,
          fmt::format("invalid launch on {}: grid {}x{}x{}, {} threads (limit {}), {} bytes "
                      "of shared memory (opted in: {})",
                      device_.name(), shape.grid.x, shape.grid.y, shape.grid.z, threads,
                      kMaxBlockThreads, shape.shared_bytes, max_shared_bytes_));
    }
    const auto* first = static_cast<const std::byte*>(arguments);
    return device_.launch(
        stream, {&GraphNodes::kernels,
                 [kernel = kernel_, shape, block = std::vector(first, first + argument_bytes)](
                     auto&) { kernel(shape, block.data()); },
                 FakeDevice::kKernelNs});
  }

  unsigned max_shared_bytes() const noexcept { return max_shared_bytes_; }

 private:
  FakeDevice& device_;
  const FakeKernel kernel_;
  const unsigned max_shared_bytes_;
};

class FakeModule final : public Module {
 public:
  FakeModule(FakeDevice& device, std::vector<std::string> entries)
      : device_(device), entries_(std::move(entries)) {}

  const runtime::Function& function(std::string_view name, unsigned max_shared_bytes) override {
    const std::lock_guard lock(device_.mutex_);
    ++device_.calls_.functions;
    if (std::find(entries_.begin(), entries_.end(), name) == entries_.end()) {
      fail_text(Code::kNotFound, unknown_name_message("entry", name, entries_));
    }
    if (max_shared_bytes > device_.options_.shared_bytes_per_block) {
      fail(Code::kUnsupported, "'{}' needs {} bytes of shared memory; {} has {} per block", name,
           max_shared_bytes, device_.name(), device_.options_.shared_bytes_per_block);
    }
    functions_.push_back(std::make_unique<FakeFunction>(
        device_, device_.kernels_.at(std::string(name)), max_shared_bytes));
    return *functions_.back();
  }

 private:
  FakeDevice& device_;
  const std::vector<std::string> entries_;
  std::vector<std::unique_ptr<FakeFunction>> functions_;
};

void FakeDevice::StreamState::run(const Node& node) {
  node.work(*this);
  now_ns += node.ns;
}

FakeDevice::FakeDevice(const FakeDeviceOptions& options)
    : options_(options), default_stream_(std::make_unique<StreamState>()), pool_(*this) {
  hardware_.kind = DeviceKind::kCuda;
  hardware_.index = options.index;
  hardware_.model = "Fake GPU";
  hardware_.capability = options.capability;
  hardware_.units = options.units;
  hardware_.last_level_cache_bytes = options.cache_bytes;
}

FakeDevice::~FakeDevice() = default;

DriverCalls FakeDevice::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

void FakeDevice::reset_calls() {
  const std::lock_guard lock(mutex_);
  calls_ = {};
}

std::int64_t FakeDevice::allocated_bytes() const {
  const std::lock_guard lock(mutex_);
  std::int64_t total = 0;
  for (const auto& [address, bytes] : allocations_) total += bytes;
  return total;
}

void FakeDevice::fail_next_launch(std::string message) {
  const std::lock_guard lock(mutex_);
  launch_failure_ = std::move(message);
}

FakeDevice::StreamState& FakeDevice::state(void* stream) const {
  if (stream == nullptr) return *default_stream_;
  const auto found = streams_.find(stream);
  if (found == streams_.end()) {
    fail(Code::kInvalidArgument, "stream {} is not one of {}", stream, name());
  }
  return *found->second;
}

void FakeDevice::submit(void* stream, Node node) {
  const std::lock_guard lock(mutex_);
  StreamState& target = state(stream);
  if (target.capture) {
    target.capture->nodes.push_back(std::move(node));
  } else {
    target.run(node);
  }
}

Status FakeDevice::launch(void* stream, Node node) noexcept {
  const std::lock_guard lock(mutex_);
  ++calls_.launches;
  if (!launch_failure_.empty()) {
    return failed(StatusCode::kDevice, std::exchange(launch_failure_, {}));
  }
  try {
    submit(stream, std::move(node));
    return {};
  } catch (const std::exception& error) {
    return failed(StatusCode::kDevice, error.what());
  }
}

Status FakeDevice::enqueue(void* stream, std::function<void()> work, double ns) noexcept {
  return launch(stream, {&GraphNodes::kernels, [work = std::move(work)](auto&) { work(); }, ns});
}

void FakeDevice::define_kernel(const std::string& name, FakeKernel kernel) {
  const std::lock_guard lock(mutex_);
  kernels_[name] = std::move(kernel);
}

std::vector<std::byte> FakeDevice::image(const std::vector<std::string>& entries) {
  const std::string text = std::string(kImageMagic) + join(entries, "\n");
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::unique_ptr<Module> FakeDevice::load_module(std::span<const std::byte> image) {
  const std::lock_guard lock(mutex_);
  ++calls_.modules;
  const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  if (text.substr(0, kImageMagic.size()) != kImageMagic) {
    fail(Code::kEnvironment, "{} refuses an image of {} bytes: not device code", name(),
         image.size());
  }
  std::vector<std::string> entries = split(text.substr(kImageMagic.size()), '\n');
  for (const std::string& entry : entries) {
    if (kernels_.count(entry) == 0) {
      fail(Code::kEnvironment, "{} refuses an image with the undefined entry '{}'", name(), entry);
    }
  }
  return std::make_unique<FakeModule>(*this, std::move(entries));
}

bool FakeDevice::is_capturing(void* stream) const noexcept {
  const std::lock_guard lock(mutex_);
  ++calls_.queries;
  const auto found = streams_.find(stream);
  return found != streams_.end() && found->second->capture.has_value();
}

void FakeDevice::reserve_workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) {
  {
    const std::lock_guard lock(mutex_);
    ++calls_.reservations;
    state(stream);
  }
  pool_.reserve(stream, stream, bytes, zeroed_bytes);
}

void* FakeDevice::workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) noexcept {
  return pool_.find(stream, bytes, zeroed_bytes);
}

MemoryInfo FakeDevice::memory_info() const {
  const std::lock_guard lock(mutex_);
  ++calls_.queries;
  return {options_.memory_bytes, options_.memory_bytes - allocated_bytes()};
}

void FakeDevice::forbid_in_capture(std::string_view what, const StreamState* only) {
  bool found = false;
  for (auto& [handle, stream] : streams_) {
    if (!stream->capture || (only != nullptr && only != stream.get())) continue;
    stream->capture->invalid = fmt::format("{} during the capture", what);
    found = true;
  }
  if (found) {
    fail(Code::kEnvironment, "{} on {} is not permitted while a stream is capturing", what, name());
  }
}

void FakeDevice::reset_persisting() {
  const std::lock_guard lock(mutex_);
  ++calls_.persisting_resets;
}

void* FakeDevice::allocate(std::int64_t bytes, MemoryKind kind) {
  const std::lock_guard lock(mutex_);
  ++calls_.allocations;
  forbid_in_capture("an allocation");
  const std::int64_t available = options_.memory_bytes - allocated_bytes();
  if (kind == MemoryKind::kDevice && bytes > available) {
    fail(Code::kEnvironment, "cannot allocate {} bytes on {}: {} of {} are available", bytes,
         name(), available, options_.memory_bytes);
  }
  auto* data = static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), kAlignment));
  std::memset(data, static_cast<int>(kFreshMemory), static_cast<std::size_t>(bytes));
  allocations_.emplace(data, bytes);
  return data;
}

void FakeDevice::deallocate(void* data, MemoryKind) noexcept {
  const std::lock_guard lock(mutex_);
  ++calls_.frees;
  allocations_.erase(static_cast<std::byte*>(data));
  ::operator delete(data, kAlignment);
}

// Host memory of the caller is not known here and passes.
void FakeDevice::check_range(const void* data, std::int64_t bytes, std::string_view what) const {
  const auto* first = static_cast<const std::byte*>(data);
  auto next = allocations_.upper_bound(first);
  if (next == allocations_.begin()) return;
  const auto& [start, size] = *std::prev(next);
  if (first < start + size && first + bytes > start + size) {
    fail(Code::kEnvironment, "{} of {} bytes on {} leaves its allocation of {} bytes", what, bytes,
         name(), size);
  }
}

void FakeDevice::copy(void* destination, const void* source, std::int64_t bytes, void* stream) {
  const std::lock_guard lock(mutex_);
  ++calls_.copies;
  check_range(destination, bytes, "a copy");
  check_range(source, bytes, "a copy");
  submit(stream, {&GraphNodes::copies,
                  [=](auto&) {
                    if (bytes > 0)
                      std::memmove(destination, source, static_cast<std::size_t>(bytes));
                  },
                  traffic_ns(2 * bytes)});
}

void FakeDevice::fill(void* destination, std::uint8_t value, std::int64_t bytes, void* stream) {
  const std::lock_guard lock(mutex_);
  ++calls_.fills;
  check_range(destination, bytes, "a fill");
  submit(stream, {&GraphNodes::fills,
                  [=](auto&) {
                    if (bytes > 0) std::memset(destination, value, static_cast<std::size_t>(bytes));
                  },
                  traffic_ns(bytes)});
}

double FakeDevice::traffic_ns(std::int64_t bytes) const noexcept {
  const double rate = options_.gigabytes_per_second;
  return rate > 0 ? static_cast<double>(bytes) / rate : 0;
}

void* FakeDevice::create_stream() {
  const std::lock_guard lock(mutex_);
  ++calls_.streams;
  auto stream = std::make_unique<StreamState>();
  void* const handle = stream.get();
  streams_.emplace(handle, std::move(stream));
  return handle;
}

void FakeDevice::destroy_stream(void* stream) noexcept {
  pool_.release(stream);
  const std::lock_guard lock(mutex_);
  streams_.erase(stream);
}

void FakeDevice::synchronize(void* stream) {
  const std::lock_guard lock(mutex_);
  ++calls_.synchronizations;
  forbid_in_capture("a synchronisation", &state(stream));
}

std::unique_ptr<Event> FakeDevice::create_event() {
  const std::lock_guard lock(mutex_);
  ++calls_.events;
  return std::make_unique<FakeEvent>(*this);
}

void FakeDevice::begin_capture(void* stream) {
  const std::lock_guard lock(mutex_);
  ++calls_.captures;
  StreamState& target = state(stream);
  if (stream == nullptr) {
    fail(Code::kUnsupported, "the default stream of {} cannot be captured; create a stream",
         name());
  }
  if (target.capture) fail(Code::kConflict, "stream {} of {} is capturing already", stream, name());
  target.capture.emplace();
}

std::unique_ptr<Graph> FakeDevice::end_capture(void* stream) {
  const std::lock_guard lock(mutex_);
  StreamState& target = state(stream);
  if (!target.capture) fail(Code::kConflict, "stream {} of {} is not capturing", stream, name());
  RecordedCapture capture = std::move(*target.capture);
  target.capture.reset();
  if (!capture.invalid.empty()) {
    fail(Code::kEnvironment, "the capture on {} is invalid: {}", name(), capture.invalid);
  }
  return std::make_unique<FakeGraph>(*this, std::move(capture.nodes));
}

void FakeDevice::cancel_capture(void* stream) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  if (found != streams_.end()) found->second->capture.reset();
}

}  // namespace kw::test
