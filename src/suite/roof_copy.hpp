// SPDX-License-Identifier: Apache-2.0
// The copy roof as a piece of work that takes turns with an implementation, call by call.
#pragma once

#include "kernelwright/core/status.hpp"
#include "kernelwright/runtime/memory.hpp"
#include "kernelwright/suite/report.hpp"

namespace kw::suite {

class RoofCopy {
 public:
  // One call reads and writes `bytes` in all, rounded down to a multiple of 128, in one of `sets`
  // pairs of places. `roof` says by which method, and with how many threads.
  RoofCopy(runtime::Device& device, const Roof& roof, double bytes, std::int64_t sets);

  // Call n, in pair n modulo `sets`.
  Status enqueue(std::int64_t n, void* stream);

 private:
  std::byte* place(const runtime::Buffer& buffer, std::int64_t n) const {
    return buffer.data() + n % sets_ * bytes_;
  }

  runtime::Device& device_;
  const Roof roof_;
  const std::int64_t bytes_, sets_;  // bytes: of one side of a copy
  const runtime::Buffer from_, to_;
};

}  // namespace kw::suite
