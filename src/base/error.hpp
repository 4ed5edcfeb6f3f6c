// SPDX-License-Identifier: Apache-2.0
// The one exception type of the library, and the code it carries. A message says what was asked,
// what exists and what to do. Thrown while configuring, resolving and preparing; never on a launch.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace kw {

enum class Code : int {
  kInvalidArgument = 1,  // the caller's value is wrong
  kNotFound = 2,         // a name that does not exist
  kUnsupported = 3,      // legal, but no implementation serves it here
  kConflict = 4,         // frozen, duplicate, second initialise
  kEnvironment = 5,      // device, compiler, dependency, rights
  kInternal = 6,         // a defect of this library
};

std::string_view code_name(Code code) noexcept;

class Error : public std::exception {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  Code code() const noexcept { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  Code code_;
  std::string message_;
};

// Throws Error. Code of this library uses the formatting fail() of fail.hpp.
[[noreturn]] void fail_text(Code code, std::string message);

}  // namespace kw
