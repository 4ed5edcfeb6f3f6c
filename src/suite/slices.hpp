// SPDX-License-Identifier: Apache-2.0
// A case seen through some of its slices along the first batch dimension. Outputs of a slice depend
// on that slice alone and on operands without a batch, so that a few of them can be made and judged
// without the rest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernelwright/suite/case.hpp"
#include "kernelwright/suite/inputs.hpp"

namespace kw::suite {

// Why a case cannot be cut, "" when it can: no batch, mutated operands, operands whose elements
// share memory, or saved inputs that are sums over slices.
std::string why_whole(const Problem& problem, const Catalog& catalog);

// Of the first batch dimension.
std::int64_t slice_count(const Problem& problem);
// Whether the operand is cut with the batch.
bool is_sliced(const Problem& problem, const Operand& operand);

// The packed problem of `count` slices.
Problem slice_problem(const Problem& problem, std::int64_t count);

// Inputs of the given slices, one after another: values per operand of slice_problem(), empty for
// outputs, the same that fill_inputs() makes for the whole case. Needs an empty why_whole().
std::vector<std::vector<double>> slice_inputs(const Case& spec,
                                              std::span<const std::int64_t> slices,
                                              const Catalog& catalog);

// The elements of one slice of a view whose first dimension is cut.
TensorView slice_of(const TensorView& view, std::int64_t slice);

}  // namespace kw::suite
