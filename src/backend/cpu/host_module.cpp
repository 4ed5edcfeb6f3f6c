// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "kernelwright/backend/cpu/toolchain_host.hpp"
#include "kernelwright/base/fail.hpp"

namespace kw::jit {
namespace {

using Entry = void (*)(const void* arguments, const unsigned* grid);

class HostFunction final : public runtime::Function {
 public:
  explicit HostFunction(Entry entry) : entry_(entry) {}
  runtime::FunctionFacts facts() const noexcept override { return {0, 0, 0, 1}; }
  int resident_blocks(const runtime::LaunchShape&) const override { return 1; }
  Status launch(const runtime::LaunchShape& shape, const void* arguments, std::size_t,
                void*) const noexcept override {
    const unsigned grid[3] = {shape.grid.x, shape.grid.y, shape.grid.z};
    entry_(arguments, grid);
    return {};
  }

 private:
  Entry entry_;
};

class HostModule final : public runtime::Module {
 public:
  explicit HostModule(void* handle) : handle_(handle) {}
  ~HostModule() override { ::dlclose(handle_); }

  const runtime::Function& function(std::string_view name, unsigned) override {
    const std::string symbol(name);
    const std::lock_guard lock(mutex_);
    std::unique_ptr<HostFunction>& function = functions_[symbol];
    if (!function) {
      void* address = ::dlsym(handle_, symbol.c_str());
      if (address == nullptr) {
        fail(Code::kNotFound, "the host module has no entry '{}': {}", symbol, ::dlerror());
      }
      function = std::make_unique<HostFunction>(reinterpret_cast<Entry>(address));
    }
    return *function;
  }

 private:
  void* handle_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<HostFunction>> functions_;
};

bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

// The loader takes a path that it has seen for the object that it has loaded, and numbers of
// descriptors come again; so every load spells its path in a way of its own, the bits of `serial`
// as "/." and "/".
std::string unique_path(int descriptor, unsigned serial) {
  std::string path = "/proc/self";
  for (; serial != 0; serial >>= 1) path += (serial & 1U) != 0 ? "/." : "/";
  return path + fmt::format("/fd/{}", descriptor);
}

}  // namespace

std::unique_ptr<runtime::Module> load_host_module(std::span<const std::byte> image) {
  const int descriptor = ::memfd_create("kw-host-kernel", MFD_CLOEXEC);
  if (descriptor < 0) fail(Code::kEnvironment, "cannot make a file in memory for a host kernel");
  void* handle = nullptr;
  std::string why = "cannot be written to memory";
  if (write_all(descriptor, image)) {
    static std::atomic<unsigned> loads{0};
    handle = ::dlopen(unique_path(descriptor, ++loads).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) why = ::dlerror();
  }
  ::close(descriptor);
  if (handle == nullptr) {
    fail(Code::kEnvironment, "the loader refuses an image of {} bytes: {}", image.size(), why);
  }
  return std::make_unique<HostModule>(handle);
}

}  // namespace kw::jit
