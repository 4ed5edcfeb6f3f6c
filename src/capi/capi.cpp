// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "kernelwright/base/error.hpp"
#include "kernelwright/capi/control.hpp"
#include "kernelwright/kw.h"

namespace {

thread_local std::string last_error;

int failure(kw::Code code, const char* message) noexcept {
  try {
    last_error = message;
  } catch (const std::exception&) {  // no memory for a message
    last_error.clear();
  }
  return static_cast<int>(code);
}

}  // namespace

extern "C" {

const char* kw_version(void) { return KW_VERSION; }

const char* kw_last_error(void) { return last_error.c_str(); }

int kw_control(const char* request_json, char** reply) {
  if (reply == nullptr) {
    return failure(kw::Code::kInvalidArgument, "kw_control: reply is null; pass its address");
  }
  *reply = nullptr;
  try {
    const std::string text = kw::capi::control(request_json);
    auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) return failure(kw::Code::kEnvironment, "kw_control: out of memory");
    std::memcpy(copy, text.c_str(), text.size() + 1);
    *reply = copy;
    return KW_OK;
  } catch (const kw::Error& error) {
    return failure(error.code(), error.what());
  } catch (const std::exception& error) {
    return failure(kw::Code::kInternal, error.what());
  }
}

void kw_free(char* reply) { std::free(reply); }

}  // extern "C"
