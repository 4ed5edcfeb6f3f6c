// SPDX-License-Identifier: Apache-2.0
// Named ranges of host time for a profiler: calls of slots, plans being prepared, kernels being
// compiled. Without one, a Range costs one load and a branch that is not taken.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

namespace kw {

// Loads the NVTX tool at `library` (what NVTX_INJECTION64_PATH names) and tells it of every range
// from now on, as far as it asks for ranges; at most once per process, and for good. Returns "" or
// why there is none.
std::string attach_range_tool(const std::string& library);

class Range {
 public:
  // "kw <verb> <what>", with "/<part>" if there is one. The texts are read at once.
  Range(std::string_view verb, std::string_view what, std::string_view part = {}) noexcept {
    if (attached_.load(std::memory_order_acquire)) [[unlikely]]
      open_ = push(verb, what, part);
  }
  ~Range() {
    if (open_) [[unlikely]]
      pop();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  friend std::string attach_range_tool(const std::string& library);
  static bool push(std::string_view verb, std::string_view what, std::string_view part) noexcept;
  static void pop() noexcept;

  static std::atomic<bool> attached_;
  bool open_ = false;  // the tool was told, and is told of the end
};

}  // namespace kw
