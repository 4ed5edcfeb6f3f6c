// SPDX-License-Identifier: Apache-2.0
// What turns a unit into a binary: NVRTC, a host compiler, a fake of a test.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "kernelwright/jit/header_bundle.hpp"
#include "kernelwright/jit/unit.hpp"
#include "kernelwright/runtime/module.hpp"

namespace kw::jit {

// A file outside unit and bundle that the compiler read.
struct Dependency {
  std::string path;
  Digest digest{};
};

// As the compiler reports them; -1: it does not say.
struct CompileFacts {
  int registers = -1;
  int spill_store_bytes = -1, spill_load_bytes = -1;
  int stack_bytes = -1;
  int static_shared_bytes = -1;
};

struct Binary {
  std::vector<std::byte> image;
  std::string log;
  CompileFacts facts;
  std::vector<Dependency> dependencies;  // sorted by path
};

struct CompileJob {
  const Unit& unit;
  const std::vector<std::string>& flags;
  const HeaderClosure& headers;
  std::string name;  // of the virtual file; unique for the unit
};

// The compiler refused the source. Carries its log; the caller keeps the source.
class CompileFailure : public std::exception {
 public:
  explicit CompileFailure(std::string log) : log_(std::move(log)) {}
  const std::string& log() const noexcept { return log_; }
  const char* what() const noexcept override { return log_.c_str(); }

 private:
  std::string log_;
};

// Callable from any thread. Constructing one opens nothing.
class Toolchain {
 public:
  virtual ~Toolchain() = default;

  virtual std::string kind() const = 0;  // "nvrtc"
  // Flags and facts that enter S. Pure: the compiler is not touched. Throws Error(kUnsupported) for
  // an architecture that no build of it knows.
  virtual CompileSettings settings(const std::string& arch) const = 0;

  // Stat identities of the files that identity() would read, "" when there is no compiler. Cheap.
  virtual std::string stamp() const = 0;
  // A digest of the compiler's binaries. Throws Error(kEnvironment), with what was looked for and
  // what to do, when there is none.
  virtual Digest identity() = 0;
  // "nvrtc 13.0", for people.
  virtual std::string description() = 0;
  // Throws CompileFailure, or Error(kEnvironment) when the compiler cannot run.
  virtual Binary compile(const CompileJob& job) = 0;
  // Why binaries of a toolchain with this description cannot be loaded here; "" when they can.
  virtual std::string objection(const std::string& /*description*/) const { return ""; }
  // Whether compile() reports dependencies, which then enter K.
  virtual bool reads_system_headers() const { return false; }
};

}  // namespace kw::jit
