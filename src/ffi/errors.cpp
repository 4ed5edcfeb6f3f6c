// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/ffi/errors.hpp"

#include <utility>

namespace kw::ffi {
namespace {

const char* exception_of(Code code) noexcept {
  switch (code) {
    case Code::kInvalidArgument:
      return "ValueError";
    case Code::kNotFound:
      return "KeyError";
    case Code::kUnsupported:
      return "NotImplementedError";
    default:
      return "RuntimeError";
  }
}

}  // namespace

void raise(const char* kind, std::string message) {
  throw tvm::ffi::Error(kind, std::move(message), std::string());
}

void raise(const Error& error) { raise(exception_of(error.code()), error.what()); }

void raise_if_failed(Status status) {
  switch (status.code) {
    case StatusCode::kOk:
      return;
    case StatusCode::kInvalidArgument:
      raise("ValueError", last_message());
    case StatusCode::kUnsupported:
      raise("NotImplementedError", last_message());
    default:
      raise("RuntimeError", last_message());
  }
}

}  // namespace kw::ffi
