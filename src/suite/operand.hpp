// SPDX-License-Identifier: Apache-2.0
// The tensors of a problem as one flat list, elements of tensor lists included, and the Args object
// made from a view of each.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernelwright/core/arguments.hpp"
#include "kernelwright/core/problem.hpp"

namespace kw::suite {

struct Operand {
  std::size_t parameter = 0;  // index into the contract's table
  int item = -1;              // position in a tensor list
  std::string name;           // "x", "layers[3]"
  TensorSpec spec;
  Role role = Role::kInput;

  bool is_read() const noexcept { return role != Role::kOutput; }
  bool is_written() const noexcept { return role != Role::kInput; }
};

// Present tensors, in the order of the table.
std::vector<Operand> operands_of(const Problem& problem);

// `views` are parallel to operands_of(problem).
std::unique_ptr<Arguments> make_arguments(const Problem& problem,
                                          std::span<const TensorView> views);

// Elements behind the batch dimensions of this operand: the length of what tolerances call a row.
std::int64_t row_width(const Parameter& parameter, const TensorSpec& spec);

// "standard bf16 bf16 f32": variant and dtypes, what a reduced matrix must visit once.
std::string type_signature(const Problem& problem);

// Whether some tensor of the problem has batch dimensions, at least one of them.
bool has_batch(const Problem& problem);

// The problem of the first `size` slices along the first batch dimension. Strides are kept, so that
// views of it are prefixes of views of `problem`. Needs has_batch().
Problem batch_prefix(const Problem& problem, std::int64_t size);

// The problem with `size` for every free dimension. Throws Error where that is illegal.
Problem with_free_dims(const Problem& problem, std::int64_t size);

// A problem with no tensor layout but rows packed one after another; outputs inferred anew.
Problem dense(const Problem& problem);

}  // namespace kw::suite
