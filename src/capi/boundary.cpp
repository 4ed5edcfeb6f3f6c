// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/capi/boundary.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "kernelwright/base/dtype.hpp"
#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/tensor.hpp"
#include "kernelwright/core/implementation.hpp"

namespace kw::capi {
namespace {

static_assert(static_cast<int>(Code::kInvalidArgument) == KW_INVALID_ARGUMENT &&
              static_cast<int>(Code::kNotFound) == KW_NOT_FOUND &&
              static_cast<int>(Code::kUnsupported) == KW_UNSUPPORTED &&
              static_cast<int>(Code::kConflict) == KW_CONFLICT &&
              static_cast<int>(Code::kEnvironment) == KW_ENVIRONMENT &&
              static_cast<int>(Code::kInternal) == KW_INTERNAL);
static_assert(static_cast<int>(DType::kF64) == KW_F64 && static_cast<int>(DType::kF32) == KW_F32 &&
              static_cast<int>(DType::kF16) == KW_F16 &&
              static_cast<int>(DType::kBF16) == KW_BF16 &&
              static_cast<int>(DType::kF8E4M3) == KW_F8_E4M3 &&
              static_cast<int>(DType::kF8E5M2) == KW_F8_E5M2 &&
              static_cast<int>(DType::kI64) == KW_I64 && static_cast<int>(DType::kI32) == KW_I32 &&
              static_cast<int>(DType::kU8) == KW_U8 && static_cast<int>(DType::kBool) == KW_BOOL &&
              kNumDTypes == KW_BOOL + 1);
static_assert(kMaxRank == KW_MAX_RANK && kWorkspaceAlignment == KW_WORKSPACE_ALIGNMENT);

// Room for the message is there even when memory is not.
struct LastError {
  std::string text;
  const char* fixed = "";
};
thread_local LastError last_error;

}  // namespace

int refuse(int code, const char* message) noexcept {
  try {
    last_error.text = message;
    last_error.fixed = nullptr;
  } catch (const std::bad_alloc&) {
    last_error.fixed = "out of memory";
  }
  return code;
}

int refuse_current_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return refuse(static_cast<int>(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    last_error.fixed = "out of memory";
    return KW_ENVIRONMENT;
  } catch (const std::exception& error) {
    return refuse(KW_INTERNAL, error.what());
  } catch (...) {
    return refuse(KW_INTERNAL, "an exception of unknown type");
  }
}

int code_of(Status status) noexcept {
  if (status) return KW_OK;
  int code = KW_INTERNAL;
  switch (status.code) {
    case StatusCode::kInvalidArgument:
      code = KW_INVALID_ARGUMENT;
      break;
    case StatusCode::kUnsupported:
      code = KW_UNSUPPORTED;
      break;
    case StatusCode::kNotPrepared:
      code = KW_NOT_PREPARED;
      break;
    case StatusCode::kUnbound:
      code = KW_CONFLICT;
      break;
    case StatusCode::kDevice:
      code = KW_ENVIRONMENT;
      break;
    case StatusCode::kOk:
    case StatusCode::kInternal:
    case StatusCode::kOutputStructure:
    case StatusCode::kOutputAlias:
      break;
  }
  return refuse(code, last_message().c_str());
}

void require_pointer(const void* pointer, const char* name) {
  if (pointer == nullptr) fail(Code::kInvalidArgument, "'{}' is null", name);
}

const char* require_text(const char* text, const char* name) {
  require_pointer(text, name);
  return text;
}

char* to_caller(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace kw::capi

extern "C" {

const char* kw_version(void) noexcept { return KW_VERSION; }

const char* kw_last_error(void) noexcept {
  const auto& error = kw::capi::last_error;
  return error.fixed != nullptr ? error.fixed : error.text.c_str();
}

void kw_free(char* text) noexcept { std::free(text); }

}  // extern "C"
