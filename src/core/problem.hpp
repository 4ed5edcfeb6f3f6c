// SPDX-License-Identifier: Apache-2.0
// Everything of one call except pointers and device: exact, as a value and as text.
//   operation/variant x=bf16[4096,7168] weight=bf16[7168] eps=1e-05 want_rstd=true
// Grammar:
//   problem := operation '/' variant {' ' name '=' value}
//   tensor  := dtype '[' dim {',' dim} ']' [':' strides] ['@' align] ['~' content]
//   list    := tensor '*' count | '(' tensor {';' tensor} ')'
//   strides := '[' stride {',' stride} ']'      dim := integer | '?'
// Strides count elements and are printed when not contiguous; align (bytes) only below 16; absent
// optionals, default scalars and default outputs are omitted. `needs_grad=true` is accepted and
// stands for wanting every output that backward reads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernelwright/core/contract.hpp"

namespace kw {

struct TensorSpec {
  bool present = false;
  DType dtype = DType::kF32;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> sizes{};    // kFreeDim: any
  std::array<std::int64_t, kMaxRank> strides{};  // meaningful unless `contiguous`
  bool contiguous = true;
  int align = 16;  // largest power of two up to 16 that divides the base address
  std::string content;

  std::span<const std::int64_t> shape() const noexcept {
    return {sizes.data(), static_cast<std::size_t>(rank)};
  }
  std::span<const std::int64_t> pitches() const noexcept {
    return {strides.data(), static_cast<std::size_t>(rank)};
  }
  // kFreeDim if a dimension is free.
  std::int64_t numel() const noexcept;
  bool has_free_dim() const noexcept;
  bool operator==(const TensorSpec&) const = default;
};

TensorSpec spec_of(const TensorView& view);
// A view of `data` laid out as `spec`; throws Error(kInvalidArgument) for free dimensions.
TensorView view_of(const TensorSpec& spec, void* data);

struct ParameterValue {
  TensorSpec tensor;             // Kind::kTensor; outputs: present means wanted
  std::vector<TensorSpec> list;  // Kind::kTensorList
  bool list_present = false;
  bool scalar_given = false;  // false: the default holds
  double number = 0;          // float, bool, enum index; integers up to 2^53 are exact
};

struct Problem {
  const Contract* contract = nullptr;
  int variant = 0;
  std::vector<ParameterValue> values;  // one per parameter, same order
  SymbolTable symbols;                 // filled by check()

  const std::string& operation() const noexcept { return contract->operation; }
  const std::string& variant_name() const noexcept {
    return contract->variants[static_cast<std::size_t>(variant)].name;
  }
  std::string label() const { return operation() + "/" + variant_name(); }

  const ParameterValue& value(std::string_view parameter) const;
  ParameterValue& value(std::string_view parameter);
  const TensorSpec& tensor(std::string_view parameter) const { return value(parameter).tensor; }
  bool has(std::string_view parameter) const;
  // Scalar in effect: given, computed from shapes, or default.
  double number(std::string_view parameter) const;
  // Value of a size symbol or integer scalar; kFreeDim when free.
  std::int64_t size(std::string_view symbol) const;
  DType dtype(std::string_view dtype_symbol) const;
  // Product of the `*` dimensions; kFreeDim when one is free.
  std::int64_t rows() const;
  bool has_free_dims() const;
};

// A problem of `contract` with every default in place and no tensor present.
Problem make_problem(const Contract& contract, std::string_view variant);

// Binds symbols across parameters, checks dtypes, shapes, ranges, presence and `constrain`, and
// fills in the outputs. Throws Error(kInvalidArgument) naming parameter, value found and value
// needed.
void check(Problem& problem);

std::string problem_text(const Problem& problem);

// Finds contracts by operation name; null when there is none.
class ContractSource {
 public:
  virtual ~ContractSource() = default;
  virtual const Contract* find_contract(std::string_view operation) const noexcept = 0;
  virtual std::vector<std::string> operation_names() const = 0;
};

// Parses and checks. Throws Error(kInvalidArgument | kNotFound) pointing at the offending text.
Problem parse_problem(std::string_view text, const ContractSource& contracts);

// Expands `{a,b,c}` value lists into the cross product: "x=bf16[{1,16},64]" gives two texts. A
// named list `{C:64,128}` is repeated by `{C}`: "x=bf16[2,{C:64,128}] weight=bf16[{C}]" gives two
// as well.
std::vector<std::string> expand_problem_text(std::string_view text);

// Minimum bytes and flops by the contract's formulas (0 when flops are not counted).
double problem_bytes(const Problem& problem);
double problem_flops(const Problem& problem);

}  // namespace kw
