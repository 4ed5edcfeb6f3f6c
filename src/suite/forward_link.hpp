// SPDX-License-Identifier: Apache-2.0
// How a backward operation gets what its forward saved: parameters of equal names, computed by the
// forward's reference.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernelwright/suite/oracle.hpp"

namespace kw::suite {

// The operation whose contract names `operation` as its backward; null when there is none.
const Operation* find_forward(const Catalog& catalog, std::string_view operation) noexcept;

// Whether the forward computes this input of a backward.
bool is_saved_output(const Contract& forward, const Parameter& parameter, std::string_view variant);

// The forward call on the inputs of `backward`, with all outputs that are not optional.
Problem main_forward(const Contract& forward, const Problem& backward);

struct SavedOutput {
  std::size_t parameter;  // of the backward
  DenseTensor tensor;
};

// Every saved output that a parameter of `backward` takes, present there or not. `inputs` are those
// of the backward, per operand; saved ones among them are not read.
std::vector<SavedOutput> run_forward(const Operation& forward, const Problem& backward,
                                     std::span<const std::vector<double>> inputs,
                                     const Catalog& catalog);

}  // namespace kw::suite
