// SPDX-License-Identifier: Apache-2.0
// Symbolic dimensions and dtype rules: the two small languages in which a parameter row states its
// shape and element type, and the environment in which their symbols get values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernelwright/base/dtype.hpp"

namespace kw {

inline constexpr std::int64_t kFreeDim = -1;  // `?` in problem text: any size

// scale * S * T + offset; an empty name stands for 1. "C", "64", "2*S+1", "S*T", "S-1".
struct Dim {
  std::int64_t scale = 1;
  std::string s, t;
  std::int64_t offset = 0;
};

// "[*, C]": `*` stands for any number of leading dimensions, the same ones in every parameter.
struct Shape {
  bool batch = false;
  std::vector<Dim> dims;
};

// One admissible element type: a fixed dtype, the value of a dtype symbol, or its accumulator.
struct DTypeTerm {
  enum class Kind { kFixed, kSymbol, kAccumulator } kind = Kind::kFixed;
  DType dtype = DType::kF32;
  std::string symbol;
};

// "T: bf16|f16|f32" declares T; "T" repeats it; "W: T|f32" declares W as T or f32; "acc(T)";
// "i32|i64".
struct DTypeRule {
  std::string declares;
  std::vector<DTypeTerm> terms;
};

// Throw Error(kInternal): a rule that does not parse is a defect of the contract.
Shape parse_shape(std::string_view text);
DTypeRule parse_dtype_rule(std::string_view text);
std::string shape_text(const Shape& shape);
std::string dtype_rule_text(const DTypeRule& rule);

// Values of symbols while one problem is checked. Small linear maps: a contract has few symbols.
class SymbolTable {
 public:
  struct Size {
    std::string name;
    std::int64_t value;  // kFreeDim when bound to `?`
    std::string origin;  // "x[1]", for messages
  };
  struct Type {
    std::string name;
    DType dtype;
    std::string origin;
  };

  const Size* size(std::string_view name) const noexcept;
  const Type* type(std::string_view name) const noexcept;
  void bind_size(std::string name, std::int64_t value, std::string origin);
  void bind_type(std::string name, DType dtype, std::string origin);

  bool batch_bound = false;
  std::vector<std::int64_t> batch;
  std::string batch_origin;

  const std::vector<Size>& sizes() const noexcept { return sizes_; }

 private:
  std::vector<Size> sizes_;
  std::vector<Type> types_;
};

// The value of `dim`: nullopt while a symbol of it is unbound, kFreeDim when one is free.
std::optional<std::int64_t> evaluate(const Dim& dim, const SymbolTable& symbols) noexcept;
// The dtypes a rule admits under `symbols`; terms with unbound symbols are left out.
std::vector<DType> admitted(const DTypeRule& rule, const SymbolTable& symbols);

}  // namespace kw
