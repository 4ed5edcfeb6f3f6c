// SPDX-License-Identifier: Apache-2.0
// The problems by which an operation is judged and timed: plain data from
// src/ops/<operation>/suite.yaml.
//   SuiteSpec{"scale", {{"smoke", {"scale/{standard,fp32} x={bf16,f16}[{1,16},64] ..."}}}}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernelwright/core/problem.hpp"

namespace kw::suite {

struct SuiteBatch {
  std::string name;                   // "smoke", "ci", "full", "bench"
  std::vector<std::string> problems;  // problem texts; {a,b} value lists make a product
};

struct SuiteSpec {
  std::string operation;
  std::vector<SuiteBatch> batches;
};

// The texts of a batch: "ci" includes "smoke", and "full" both. `name` may also be the path of a
// file: .yaml (suite_yaml.hpp), or one problem a line and # comments. Throws Error(kNotFound) with
// the batches that exist.
std::vector<std::string> batch_lines(const SuiteSpec& suite, std::string_view name);

// Problems of `lines`, value lists expanded, in order. Throws what parse_problem throws, and
// Error(kInvalidArgument) for a problem of another operation or with free dimensions.
std::vector<Problem> parse_problems(const std::vector<std::string>& lines, const Contract& contract,
                                    const ContractSource& contracts);

}  // namespace kw::suite
