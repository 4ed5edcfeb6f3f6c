// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/status.hpp"

#include <utility>

#include "kernelwright/base/error.hpp"

namespace kw {
namespace {

thread_local std::string message_of_thread;

Code code_of(StatusCode status) noexcept {
  switch (status) {
    case StatusCode::kInvalidArgument:
      return Code::kInvalidArgument;
    case StatusCode::kUnsupported:
      return Code::kUnsupported;
    case StatusCode::kNotPrepared:  // the call is legal, the state it meets is not
    case StatusCode::kUnbound:
      return Code::kConflict;
    case StatusCode::kDevice:
      return Code::kEnvironment;
    case StatusCode::kOk:
    case StatusCode::kInternal:
    case StatusCode::kOutputStructure:
    case StatusCode::kOutputAlias:
      break;
  }
  return Code::kInternal;
}

}  // namespace

const std::string& last_message() noexcept { return message_of_thread; }

Status failed(StatusCode code, std::string message) noexcept {
  message_of_thread = std::move(message);
  return {code};
}

void throw_if_failed(Status status) {
  if (status) return;
  fail_text(code_of(status.code), message_of_thread);
}

}  // namespace kw
