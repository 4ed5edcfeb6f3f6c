// SPDX-License-Identifier: Apache-2.0
// Private: from the C structs of a call to an Args object, with an error for everything that could
// not be read safely.
#pragma once

#include "kernelwright/core/arguments.hpp"
#include "kernelwright/core/hardware.hpp"
#include "kernelwright/kw.h"

namespace kw::capi {

// Throws Error(kInvalidArgument) naming operation, parameter, what was found and wanted. Whether
// the values suit one another is not looked at here.
void read_arguments(const kw_arguments& from, Arguments& to);

// A caller's workspace: one block, or none.
class CallerWorkspace final : public WorkspaceSource {
 public:
  // Throws Error(kInvalidArgument) for negative sizes, a size without address, misalignment.
  CallerWorkspace(void* address, std::int64_t bytes);

  bool given() const noexcept { return address_ != nullptr; }
  // For a Stream: null, when the library's own is to serve.
  WorkspaceSource* source() noexcept { return given() ? this : nullptr; }
  void* take(std::int64_t bytes, std::int64_t zeroed_bytes) noexcept override {
    return bytes <= bytes_ && zeroed_bytes <= bytes_ ? address_ : nullptr;
  }

 private:
  void* address_;
  std::int64_t bytes_;
};

// The CPU has no stream handles. Throws Error(kInvalidArgument).
void require_stream(const DevicePort& port, const void* stream);

}  // namespace kw::capi
