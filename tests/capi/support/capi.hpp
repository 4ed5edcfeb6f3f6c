// SPDX-License-Identifier: Apache-2.0
// The C interface as a test sees it: requests and replies as JSON, failures by code and words.
#pragma once

#include <deque>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kernelwright/kw.h"

namespace kw::test {

using Json = nlohmann::json;

// The reply of a request that must succeed.
Json control(const Json& request);
Json taken(char* text);  // frees it

// Expects `code`, a failure, and words of kw_last_error().
void expect_failure(int code, int expected, std::initializer_list<std::string_view> words);
// The same of a control request, which must leave no reply.
void expect_refusal(const std::string& request, int expected,
                    std::initializer_list<std::string_view> words);

// Arguments of one call, which own their sizes.
class Call {
 public:
  Call& tensor(void* data, int dtype, std::vector<std::int64_t> sizes,
               std::vector<std::int64_t> strides = {});
  Call& absent();
  Call& list(std::vector<kw_tensor> tensors);
  Call& scalar(kw_scalar value);
  Call& defaults(int count);  // of scalars

  static kw_tensor view(void* data, int dtype, const std::vector<std::int64_t>& sizes);

  kw_arguments get() const {
    return {tensors.data(), scalars.data(), static_cast<int>(tensors.size()),
            static_cast<int>(scalars.size())};
  }
  int launch(kw_binding* binding, void* workspace = nullptr, std::int64_t bytes = 0,
             void* stream = nullptr) const;
  int launch(kw_plan* plan, void* workspace = nullptr, std::int64_t bytes = 0,
             void* stream = nullptr) const;

  std::vector<kw_tensor> tensors;
  std::vector<kw_scalar> scalars;

 private:
  std::deque<std::vector<std::int64_t>> shapes_;
  std::deque<std::vector<kw_tensor>> lists_;
};

}  // namespace kw::test
