// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/base/error.hpp"

namespace kw {

std::string_view code_name(Code code) noexcept {
  switch (code) {
    case Code::kInvalidArgument:
      return "invalid_argument";
    case Code::kNotFound:
      return "not_found";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kConflict:
      return "conflict";
    case Code::kEnvironment:
      return "environment";
    case Code::kInternal:
      return "internal";
  }
  return "unknown";
}

void fail_text(Code code, std::string message) { throw Error(code, std::move(message)); }

}  // namespace kw
