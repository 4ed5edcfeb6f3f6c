// SPDX-License-Identifier: Apache-2.0
// The workspace of validated calls: exactly as large as the implementation says, poisoned before
// each call and between canaries.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernelwright/core/implementation.hpp"
#include "kernelwright/runtime/device.hpp"
#include "kernelwright/suite/callable.hpp"

namespace kw::suite {

class Scratch final : public WorkspaceSource {
 public:
  // Lends memory of `device`, which must outlive it.
  explicit Scratch(runtime::Device& device) : device_(device) {}

  // Before a call that needs `size`: zeros its first bytes, poisons the others, in order with the
  // null stream. Throws Error(kEnvironment) when memory is short.
  void arm(const WorkspaceSize& size, std::uint8_t poison);
  // Null for more than was armed.
  void* take(std::int64_t bytes, std::int64_t zeroed_bytes) noexcept override;
  // After the call: what was written outside, or left in the part that must be zero again.
  std::optional<std::string> overrun() const;
  std::optional<std::string> unclean() const;

 private:
  std::byte* base() const noexcept { return memory_.data() + kGuardBytes; }
  std::vector<std::byte> download(const std::byte* from, std::int64_t bytes) const;

  static constexpr std::int64_t kGuardBytes = 512;
  runtime::Device& device_;
  runtime::Buffer memory_;
  WorkspaceSize armed_;
};

// A callable works in a scratch for as long as this lives.
class LentScratch {
 public:
  LentScratch(Callable& callable, Scratch& scratch) noexcept : callable_(callable) {
    callable.set_workspace(&scratch);
  }
  ~LentScratch() { callable_.set_workspace(nullptr); }
  LentScratch(const LentScratch&) = delete;
  LentScratch& operator=(const LentScratch&) = delete;

 private:
  Callable& callable_;
};

}  // namespace kw::suite
