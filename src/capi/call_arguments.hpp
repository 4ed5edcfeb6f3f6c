// SPDX-License-Identifier: Apache-2.0
// Private: from the C structs of a call to an Args object, with an error for everything that could
// not be read safely.
#pragma once

#include "kernelwright/capi/boundary.hpp"
#include "kernelwright/core/arguments.hpp"
#include "kernelwright/core/hardware.hpp"
#include "kernelwright/core/implementation.hpp"
#include "kernelwright/kw.h"

namespace kw::capi {

// Throws Error(kInvalidArgument) naming operation, parameter, what was found and wanted. Whether
// the values suit one another is not looked at here.
void read_arguments(const kw_arguments& from, Arguments& to);

// What kw_workspace and kw_plan_workspace do; `size_of` maps the address of Args to a
// WorkspaceSize.
template <typename SizeOf>
void answer_workspace(const Contract& contract, const kw_arguments& from, std::int64_t* bytes,
                      std::int64_t* zeroed_bytes, const SizeOf& size_of) {
  require_pointer(bytes, "bytes");
  require_pointer(zeroed_bytes, "zeroed_bytes");
  Arguments arguments(contract);
  read_arguments(from, arguments);
  const WorkspaceSize size = size_of(arguments.data());
  *bytes = size.bytes;
  *zeroed_bytes = size.zeroed_bytes;
}

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
