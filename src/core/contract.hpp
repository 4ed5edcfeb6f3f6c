// SPDX-License-Identifier: Apache-2.0
// What an operation means. A plain Args struct lists its parameters once, in `visit(Recorder&)`;
// the resulting table is the only description there is: checks, output shapes, problem text, CLI
// flags, JSON, binary keys and schemas are ordinary code over it. Device-free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernelwright/base/tensor.hpp"
#include "kernelwright/core/dims.hpp"

namespace kw {

struct Problem;
class Recorder;

enum class Role : std::uint8_t { kInput, kMutated, kOutput, kScalar };
enum class Kind : std::uint8_t { kTensor, kTensorList, kFloat, kInt, kBool, kEnum };

// Static values may enter a Cfg; dynamic ones only through a bucket, so that a plan outlives them.
enum class Variability : std::uint8_t { kStatic, kDynamic };

// How exact an output must be; numerics derives every threshold from (class, dtype, width).
enum class ToleranceClass : std::uint8_t {
  kMovement,      // bitwise
  kOneRounding,   // float32 arithmetic, one rounding to the output type
  kTwoRoundings,  // the variant itself rounds an intermediate to the storage type
  kLinear,        // a K-reduction: matrix products
  kFusedGemm,     // several products with a rounded activation between them
  kAttention,
  kRecurrence,
  kLoss,
  kQuantised,
  kTopK,
};

// One row of the table.
struct Parameter {
  std::string name;
  std::string help;
  Role role = Role::kInput;
  Kind kind = Kind::kTensor;
  std::size_t offset = 0;    // of the field inside Args
  bool is_optional = false;  // tensors: may be absent; scalars: the field is a std::optional
  bool is_optional_field = false;
  std::vector<std::string> variants;  // empty: part of every variant

  // Tensors and tensor lists.
  Shape shape;
  DTypeRule dtype;
  bool is_saved = false;           // output that the backward operation reads
  bool is_differentiable = false;  // input for which the backward operation has a gradient
  std::string alias_of;            // output that may be the same memory as this input
  std::string content;       // fill class of index-like inputs: offsets, expert_id, label, ...
  std::string output_group;  // outputs that are wanted or not wanted together
  std::optional<ToleranceClass> tolerance;  // unless the variant's class holds

  // Scalars.
  Variability variability = Variability::kDynamic;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  double default_value = 0;  // enums: index into `choices`
  std::vector<std::string> choices;
  double (*computed_default)(const Problem&) = nullptr;  // value of an absent optional scalar

  // Fluent setters, used in visit().
  Parameter& optional() {
    is_optional = true;
    return *this;
  }
  Parameter& only_in(std::initializer_list<const char*> names) {
    variants.assign(names.begin(), names.end());
    return *this;
  }
  Parameter& saved() {
    is_saved = true;
    is_optional = true;
    return *this;
  }
  Parameter& differentiable() {
    is_differentiable = true;
    return *this;
  }
  Parameter& may_alias(std::string input) {
    alias_of = std::move(input);
    return *this;
  }
  Parameter& filled_with(std::string fill_class) {
    content = std::move(fill_class);
    return *this;
  }
  Parameter& group(std::string name_of_group) {
    output_group = std::move(name_of_group);
    is_optional = true;
    return *this;
  }
  Parameter& exact_to(ToleranceClass tolerance_class) {
    tolerance = tolerance_class;
    return *this;
  }
  Parameter& range(double lowest, double highest) {
    low = lowest;
    high = highest;
    return *this;
  }
  Parameter& static_value() {
    variability = Variability::kStatic;
    return *this;
  }
  Parameter& defaults_to(double (*function)(const Problem&)) {
    computed_default = function;
    is_optional = true;
    return *this;
  }

  bool is_tensor() const noexcept { return kind == Kind::kTensor || kind == Kind::kTensorList; }
  bool is_scalar() const noexcept { return !is_tensor(); }
  bool in_variant(std::string_view variant) const noexcept;
};

struct Symbol {
  std::string name;
  std::string help;
  Variability variability = Variability::kDynamic;
  std::int64_t low = 0, high = std::numeric_limits<std::int64_t>::max();
};

struct Variant {
  std::string name;
  std::string help;  // the formula and where it comes from
  ToleranceClass tolerance = ToleranceClass::kOneRounding;
};

// The configuration field of an operation: model.ops_implementation.<name>.
struct ConfigField {
  std::string name;                  // default: "<operation>_implementation"
  std::vector<std::string> aliases;  // other accepted spellings of the field
  std::string value_prefix;          // stripped from values: "fused_"
  std::vector<std::pair<std::string, std::string>> deprecated_values;  // old -> new, with a warning
  // Variants with a field of their own, which the operation's field does not reach: variant ->
  // field.
  std::vector<std::pair<std::string, std::string>> variant_names;
};

// Runs once per operation, over a default-constructed Args, and fills the table.
class Recorder {
 public:
  Recorder(void* args, std::size_t size) : base_(static_cast<std::byte*>(args)), size_(size) {}

  Parameter& input(const char* name, const TensorView& field, const char* shape, const char* dtype,
                   const char* help);
  Parameter& input(const char* name, const TensorList& field, const char* shape, const char* dtype,
                   const char* help);
  Parameter& mutated(const char* name, const TensorView& field, const char* shape,
                     const char* dtype, const char* help);
  Parameter& output(const char* name, const TensorView& field, const char* shape, const char* dtype,
                    const char* help);
  Parameter& output(const char* name, const TensorList& field, const char* shape, const char* dtype,
                    const char* help);

  Parameter& scalar(const char* name, const double& field, const char* help);
  Parameter& scalar(const char* name, const std::int64_t& field, const char* help);
  Parameter& scalar(const char* name, const bool& field, const char* help);
  Parameter& scalar(const char* name, const std::optional<double>& field, const char* help);
  Parameter& scalar(const char* name, const std::optional<std::int64_t>& field, const char* help);
  // An enum with underlying type int whose enumerators count from 0 in the order of `choices`.
  template <typename Enum>
  requires std::is_enum_v<Enum> && std::is_same_v < std::underlying_type_t<Enum>,
  int > Parameter& choice(const char* name, const Enum& field,
                          std::initializer_list<const char*> choices, const char* help) {
    return choice_at(name, &field, static_cast<int>(field), choices, help);
  }

  // Every symbol used in a shape says whether it is static, and its range.
  Symbol& symbol(const char* name, Variability variability, std::int64_t low, std::int64_t high,
                 const char* help);

  std::vector<Parameter> take_parameters() { return std::move(parameters_); }
  std::vector<Symbol> take_symbols() { return std::move(symbols_); }

 private:
  Parameter& add(const char* name, const void* field, Role role, Kind kind, const char* help);
  Parameter& add_tensor(const char* name, const void* field, Role role, Kind kind,
                        const char* shape, const char* dtype, const char* help);
  Parameter& choice_at(const char* name, const void* field, int value,
                       std::initializer_list<const char*> choices, const char* help);

  std::byte* base_;
  std::size_t size_;
  std::vector<Parameter> parameters_;
  std::vector<Symbol> symbols_;
};

// What the hot path needs of one row: no strings, 32 bytes, in table order.
struct CallStep {
  double low, high;
  std::uint32_t offset;
  Kind kind;
  Role role;
  bool value_in_key;  // static scalars and integers, which may be symbols of shapes
  bool is_optional_field;
  std::int16_t alias_of;  // row that this output may share memory with, or -1
};

// How to make and destroy an Args object of unknown type in place.
struct ArgsType {
  std::size_t size = 0, alignment = 0;
  void (*construct)(void*) = nullptr;
  void (*destroy)(void*) = nullptr;
};

// What an operation's author states besides the table.
struct ContractInfo {
  std::string operation;
  std::string summary;
  int version = 1;
  std::vector<Variant> variants;
  std::string numerical_mode = "f32";  // arithmetic of a conforming implementation
  std::string backward;                // name of the backward operation, empty if there is none
  ConfigField field;
  // What the table cannot say; the text of the violation, or nothing. Dimensions may be kFreeDim.
  std::optional<std::string> (*constrain)(const Problem&) = nullptr;
  // Minimum floating-point operations; null: not counted.
  double (*flops)(const Problem&) = nullptr;
  // Minimum bytes moved; null: every tensor of the problem once.
  double (*bytes)(const Problem&) = nullptr;
};

class Contract : public ContractInfo {
 public:
  Contract(ContractInfo info, ArgsType args, Recorder&& recorder);
  Contract(const Contract&) = delete;
  Contract& operator=(const Contract&) = delete;

  std::vector<Parameter> parameters;
  std::vector<Symbol> symbols;
  std::vector<CallStep> call_steps;  // one per parameter
  ArgsType args;

  // Index of a parameter or variant; -1 if there is none.
  int find_parameter(std::string_view name) const noexcept;
  int find_variant(std::string_view name) const noexcept;
  // Throw Error(kNotFound) that names the nearest and all candidates.
  const Parameter& parameter(std::string_view name) const;
  int variant_index(std::string_view name) const;
  const Symbol* symbol(std::string_view name) const noexcept;

 private:
  void validate() const;
};

// Defines the one contract of `Args`: `const Contract& Args::contract()` returns a static of it.
template <typename Args>
Contract make_contract(ContractInfo info) {
  Args args{};
  Recorder recorder(&args, sizeof(Args));
  args.visit(recorder);
  return Contract(std::move(info),
                  ArgsType{sizeof(Args), alignof(Args), [](void* at) { new (at) Args{}; },
                           [](void* at) { static_cast<Args*>(at)->~Args(); }},
                  std::move(recorder));
}

std::string_view tolerance_class_name(ToleranceClass tolerance) noexcept;

}  // namespace kw
