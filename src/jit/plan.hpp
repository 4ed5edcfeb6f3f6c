// SPDX-License-Identifier: Apache-2.0
// From a unit to a kernel that can be launched: found in a layer of the cache or compiled, loaded
// on a device, kept once per (device, S) while anybody holds it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernelwright/jit/cache.hpp"
#include "kernelwright/jit/header_bundle.hpp"
#include "kernelwright/jit/single_flight.hpp"
#include "kernelwright/jit/toolchain.hpp"
#include "kernelwright/jit/unit.hpp"
#include "kernelwright/runtime/device.hpp"

namespace kw::jit {

enum class Origin : int { kPack, kShared, kUser, kCompiled, kMemory };
inline constexpr const char* kOriginNames[] = {"pack", "shared", "user", "compiled", "memory"};

// A binary with its history; the same for all devices.
struct CompiledUnit {
  Digest source_digest{};  // S
  Entry entry;             // holds K, facts, log and the image
  Origin origin = Origin::kCompiled;
  double ms = 0;                         // to find or compile it
  std::vector<std::string> passed_over;  // entries of this S that cannot be loaded here, and why
};

// A loaded kernel. Must not outlive its device. Immutable, callable from any thread.
class Plan {
 public:
  Plan(Unit unit, std::shared_ptr<const CompiledUnit> compiled, Origin origin,
       runtime::Device& device);

  const Unit& unit() const noexcept { return unit_; }
  const CompiledUnit& compiled() const noexcept { return *compiled_; }
  // Where this plan's binary came from: kMemory when another device's plan had it already.
  Origin origin() const noexcept { return origin_; }
  const runtime::Function& function() const noexcept { return *function_; }
  // Block, cluster and shared memory are the unit's.
  Status launch(const runtime::Dim3& grid, const void* arguments, std::size_t bytes,
                void* stream) const noexcept {
    runtime::LaunchShape shape = unit_.shape;
    shape.grid = grid;
    return function_->launch(shape, arguments, bytes, stream);
  }
  // Every decision: kernel, Cfg, entry, geometry, digests, toolchain, registers, spills, origin,
  // times.
  PlanFacts info() const;

 private:
  Unit unit_;
  std::shared_ptr<const CompiledUnit> compiled_;
  Origin origin_;
  std::unique_ptr<runtime::Module> module_;
  const runtime::Function* function_ = nullptr;
  double load_ms_ = 0;
};

struct SessionOptions {
  CacheOptions cache;
  std::vector<std::string> flags;         // after the toolchain's own; part of every key
  const HeaderBundle* headers = nullptr;  // null: the embedded ones; borrowed
  std::string source_root;                // kernel headers from this tree instead
  bool may_compile = true;                // false: what no layer holds is an error
  // How long to wait for another process that compiles the same unit.
  std::chrono::milliseconds lock_patience{60000};
};
SessionOptions session_options(const Environment& environment);

struct SessionCounters {
  std::int64_t compiled = 0;
  std::int64_t failed = 0;       // compilations
  std::int64_t memory_hits = 0;  // plans and binaries that lived already
  std::int64_t identities = 0;   // toolchains hashed
  CacheCounters cache;
};

struct PrepareOutcome {
  std::shared_ptr<const Plan> plan;
  std::exception_ptr error;  // set when there is no plan
};

// Callable from any thread.
class Session {
 public:
  explicit Session(SessionOptions options);

  // This process's, with the options of environment().
  static Session& process();

  // Throws Error: kNotFound for a header that does not exist, kInternal for a source that the
  // compiler refuses (with its log, and the path of the kept source), kEnvironment without a
  // compiler, kUnsupported when it may not compile.
  std::shared_ptr<const Plan> prepare(Toolchain& toolchain, const Unit& unit,
                                      runtime::Device& device);
  // All of them on at most `threads` threads, in the order of `units`; one failing stops no other.
  std::vector<PrepareOutcome> prepare_all(Toolchain& toolchain, std::span<const Unit> units,
                                          runtime::Device& device, int threads);

  // Every plan on this device that somebody holds, whoever prepared it; in no order.
  std::vector<std::shared_ptr<const Plan>> plans_on(const runtime::Device& device) const;

  // Without a device: finds or compiles.
  std::shared_ptr<const CompiledUnit> compile(Toolchain& toolchain, const Unit& unit);
  // What identifies the unit here.
  Digest source_digest(const Toolchain& toolchain, const Unit& unit) const;

  Cache& cache() noexcept { return cache_; }
  SessionCounters counters() const;

 private:
  struct Identified {
    CompileSettings settings;
    HeaderClosure headers;
    Digest source{};
  };
  using Binaries = SingleFlight<Digest, CompiledUnit>;

  Identified identify(const Toolchain& toolchain, const Unit& unit) const;
  Binaries::Answer obtain(Toolchain& toolchain, const Unit& unit, const Identified& what);
  CompiledUnit find_or_compile(Toolchain& toolchain, const Unit& unit, const Identified& what);
  CompiledUnit find_or_compile(Toolchain& toolchain, const Unit& unit, const Identified& what,
                               const Cache::Accept& accept);
  std::optional<FoundEntry> find(const Digest& source, const std::string& stamp,
                                 const Cache::Accept& accept);
  void note_passed_over(const std::string& text);
  Digest identity_of(Toolchain& toolchain, const std::string& stamp);
  Entry compile_unit(Toolchain& toolchain, const Unit& unit, const Identified& what,
                     const std::string& stamp, const Digest& identity);
  Binary run_compiler(Toolchain& toolchain, const Unit& unit, const Identified& what);

  const SessionOptions options_;
  std::unique_ptr<HeaderBundle> tree_;
  const HeaderBundle& headers_;
  Cache cache_;
  Binaries binaries_;
  SingleFlight<std::pair<const runtime::Device*, Digest>, Plan> plans_;
  std::atomic<bool> warned_{false};  // of an entry that was passed over
  std::mutex identity_mutex_;
  std::map<std::string, Digest> identities_;  // of compilers, by kind and stamp; guarded
  std::atomic<std::int64_t> compiled_{0}, failed_{0}, memory_hits_{0}, identified_{0};
};

}  // namespace kw::jit
