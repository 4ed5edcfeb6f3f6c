// SPDX-License-Identifier: Apache-2.0
// Host units to shared objects by g++ or clang++, for tests and for CPU kernels outside the tree;
// and the loading of such objects from memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "kernelwright/core/environment.hpp"
#include "kernelwright/jit/toolchain.hpp"
#include "kernelwright/runtime/module.hpp"

namespace kw::jit {

struct HostToolchainOptions {
  std::string compiler;  // path or name; "" looks for g++, then clang++
  std::vector<std::string> search{"/usr/local/bin", "/usr/bin", "/bin"};
  std::chrono::milliseconds limit{120000};  // of one compilation
};
HostToolchainOptions host_toolchain_options(const Environment& environment);

// Architectures: "x86-64", "x86-64-v2", "-v3", "-v4", and "native", which is the highest of them
// that this machine has. They enter keys as lists of features, never as -march=native.
class HostToolchain final : public Toolchain {
 public:
  explicit HostToolchain(HostToolchainOptions options = {});
  ~HostToolchain() override;

  std::string kind() const override { return "host"; }
  CompileSettings settings(const std::string& arch) const override;
  std::string stamp() const override;
  Digest identity() override;
  std::string description() override;
  Binary compile(const CompileJob& job) override;
  bool reads_system_headers() const override { return true; }

  std::string compiler() const;  // resolved path, "" when there is none

 private:
  struct Compiler;
  const Compiler& found() const;  // starts the compiler a few times, once
  std::string ask(const std::vector<std::string>& arguments,
                  const std::vector<std::string>& environment = {}) const;

  const HostToolchainOptions options_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const Compiler> compiler_;  // guarded until set
};

// What this process compiles host units with: the compiler of KW_CXX, or the first that is found.
// For kernels outside the tree. Nothing is started before it is asked.
HostToolchain& host_toolchain();

// A shared object from memory. A function launches once per grid, in the calling thread; block,
// cluster and shared memory are not looked at. Throws Error(kEnvironment) when the loader refuses
// the bytes.
std::unique_ptr<runtime::Module> load_host_module(std::span<const std::byte> image);

}  // namespace kw::jit
