// SPDX-License-Identifier: Apache-2.0
// Expecting a kw::Error: its code, and words of its text.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "kernelwright/base/error.hpp"

namespace kw::test {

template <typename Call>
void expect_error(Code code, std::initializer_list<std::string_view> words, Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(code_name(error.code()), code_name(code)) << text;
    for (const std::string_view word : words) {
      EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: " << text;
    }
    return;
  }
  ADD_FAILURE() << "no error of code " << code_name(code);
}

}  // namespace kw::test
