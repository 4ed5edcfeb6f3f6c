// SPDX-License-Identifier: Apache-2.0
// Compiled device code: loaded from bytes in memory, entries found by name, launched with one block
// of arguments. A launch neither allocates nor throws.
#pragma once

#include <cstddef>
#include <string_view>

#include "kernelwright/core/status.hpp"

namespace kw::runtime {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

struct LaunchShape {
  Dim3 grid = {}, block = {};
  Dim3 cluster = {};          // {1, 1, 1}: no clusters
  unsigned shared_bytes = 0;  // dynamic
  bool cooperative = false;   // all blocks resident at once
};

// As the compiler and the driver report them, per thread or per block.
struct FunctionFacts {
  int registers = 0;
  int local_bytes = 0;  // spills and stack per thread
  int static_shared_bytes = 0;
  int max_block_threads = 0;
};

// An entry of a module; owned by it, immutable, callable from any thread.
class Function {
 public:
  virtual ~Function() = default;
  virtual FunctionFacts facts() const noexcept = 0;
  // Blocks of this shape that fit on one multiprocessor; the bound of a cooperative grid.
  virtual int resident_blocks(const LaunchShape& shape) const = 0;
  // `arguments` is the entry's one parameter, passed by value. A failure is StatusCode::kDevice.
  virtual Status launch(const LaunchShape& shape, const void* arguments, std::size_t argument_bytes,
                        void* stream) const noexcept = 0;
};

// Loaded code; unloaded at its end, so it outlives every launch and every graph that uses it.
class Module {
 public:
  virtual ~Module() = default;
  // Looks up an entry and opts it in to `max_shared_bytes` of dynamic shared memory: prepare-time
  // work. Throws Error(kNotFound) naming the entries that exist, Error(kUnsupported) when the
  // device has less shared memory.
  virtual const Function& function(std::string_view name, unsigned max_shared_bytes = 0) = 0;
};

}  // namespace kw::runtime
