// SPDX-License-Identifier: Apache-2.0
// Result of a launch: a code, and a message kept per thread. Nothing on the launch path throws.
#pragma once

#include <cstdint>
#include <string>

namespace kw {

enum class StatusCode : std::uint8_t {
  kOk = 0,
  kInvalidArgument,
  kUnsupported,
  kNotPrepared,  // the stream is capturing, or prepare_on_miss is off
  kUnbound,      // the slot runs the model's own code
  kDevice,
  kInternal,
  // Of an implementation that returns its outputs instead of writing into the caller's:
  kOutputStructure,  // another number of them, shape, dtype, layout or device than the contract's
  kOutputAlias,      // one shares memory with an input or another output
};

struct [[nodiscard]] Status {
  StatusCode code = StatusCode::kOk;
  explicit operator bool() const noexcept { return code == StatusCode::kOk; }
};

// The message of this thread's last failed Status.
const std::string& last_message() noexcept;
// Records `message` for last_message() and returns the code as a Status.
Status failed(StatusCode code, std::string message) noexcept;
// Throws the kw::Error that corresponds to a failed status; no-op when ok.
void throw_if_failed(Status status);

}  // namespace kw
