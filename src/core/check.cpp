// SPDX-License-Identifier: Apache-2.0
// check(): one pass over the table that binds symbols across parameters and fills in the outputs.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/core/problem.hpp"

namespace kw {
namespace {

std::string sizes_text(std::span<const std::int64_t> sizes) {
  std::vector<std::string> parts;
  for (const std::int64_t size : sizes)
    parts.push_back(size == kFreeDim ? "?" : std::to_string(size));
  return "[" + join(parts) + "]";
}

std::string dtypes_text(const std::vector<DType>& dtypes) {
  std::vector<std::string> names;
  for (const DType dtype : dtypes) names.emplace_back(dtype_name(dtype));
  return join(names, " or ");
}

class Checker {
 public:
  explicit Checker(Problem& problem) : problem_(problem), symbols_(problem.symbols) {
    symbols_ = {};
  }

  void run() {
    // Dtype symbols first: a rule such as "W: T|f32" may stand before the parameter that declares
    // T.
    each_tensor(false, [&](const Parameter& p, TensorSpec& spec, const std::string& name) {
      bind_dtype(p, spec, name, true);
    });
    bind_integer_scalars();
    check_presence();
    check_scalars();
    each_tensor(false, [&](const Parameter& p, TensorSpec& spec, const std::string& name) {
      bind_dtype(p, spec, name, false);
      bind_shape(p, spec, name);
    });
    each_tensor(false, [&](const Parameter& p, TensorSpec& spec, const std::string& name) {
      check_composite_dims(p, spec, name);
    });
    check_symbol_ranges();
    infer_outputs();
    check_groups();
    check_effect();
    if (problem_.contract->constrain != nullptr) {
      if (const auto violation = problem_.contract->constrain(problem_)) reject(*violation);
    }
  }

 private:
  [[noreturn]] void reject(const std::string& what) const {
    fail(Code::kInvalidArgument, "{}: {}", problem_.label(), what);
  }

  bool in_variant(const Parameter& p) const { return p.in_variant(problem_.variant_name()); }

  template <typename Visit>
  void each_tensor(bool outputs, Visit visit) {
    for (std::size_t i = 0; i < problem_.values.size(); ++i) {
      const Parameter& p = problem_.contract->parameters[i];
      if (!p.is_tensor() || (p.role == Role::kOutput) != outputs) continue;
      ParameterValue& value = problem_.values[i];
      if (value.tensor.present) visit(p, value.tensor, p.name);
      for (std::size_t j = 0; j < value.list.size(); ++j) {
        const std::string name = element_name(p, j);
        if (!value.list[j].present) reject("'" + name + "' is absent; a list has no gaps");
        visit(p, value.list[j], name);
      }
    }
  }

  static std::string element_name(const Parameter& p, std::size_t index) {
    return p.name + "[" + std::to_string(index) + "]";
  }

  void check_presence() {
    for (std::size_t i = 0; i < problem_.values.size(); ++i) {
      const Parameter& p = problem_.contract->parameters[i];
      const ParameterValue& value = problem_.values[i];
      const bool given = value.tensor.present || value.list_present || value.scalar_given;
      if (!in_variant(p)) {
        if (given)
          reject("'" + p.name +
                 "' is given, but this variant has no such parameter (it belongs to " +
                 join(p.variants) + ")");
        continue;
      }
      if (p.is_tensor() && p.role != Role::kOutput && !p.is_optional && !given) {
        reject("'" + p.name + "' is missing; needed is " + dtype_rule_text(p.dtype) + " " +
               shape_text(p.shape));
      }
    }
  }

  // What holds for the memory of any tensor.
  void check_memory(const Parameter& p, const TensorSpec& spec, const std::string& name) const {
    const auto bytes = static_cast<std::int64_t>(dtype_bytes(spec.dtype));
    std::int64_t total = bytes, reach = bytes;  // `reach`: from the first byte to the last
    bool too_large = false;
    for (int i = 0; i < spec.rank; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t size = spec.sizes[at];
      if (size == kFreeDim) continue;
      if (size < 0) reject("'" + name + "' has the negative size " + std::to_string(size));
      too_large |= __builtin_mul_overflow(total, std::max<std::int64_t>(size, 1), &total);
      if (spec.contiguous || size == 0) continue;
      std::int64_t step = 0;
      too_large |= spec.strides[at] == std::numeric_limits<std::int64_t>::min() ||
                   __builtin_mul_overflow((size - 1) * bytes, std::abs(spec.strides[at]), &step) ||
                   __builtin_add_overflow(reach, step, &reach);
    }
    if (too_large)
      reject("'" + name + "' has shape " + sizes_text(spec.shape()) +
             ", which is more than 2^63 bytes");
    if (spec.align < bytes) {
      reject("'" + name + "' starts at an address aligned to " + std::to_string(spec.align) + "; " +
             std::string(dtype_name(spec.dtype)) + " needs " + std::to_string(bytes));
    }
    if (p.role != Role::kInput && !spec.contiguous && !spec.has_free_dim() &&
        self_overlaps(view_of(spec, nullptr))) {
      reject("'" + name + "' has strides " + sizes_text(spec.pitches()) +
             " under which elements share memory; what is written may not overlap itself");
    }
  }

  // `declaring`: only rules whose admitted set does not depend on a symbol that is still open.
  void bind_dtype(const Parameter& p, const TensorSpec& spec, const std::string& name,
                  bool declaring) {
    const DTypeRule& rule = p.dtype;
    const bool declares_here = !rule.declares.empty() && symbols_.type(rule.declares) == nullptr;
    const bool closed = std::all_of(rule.terms.begin(), rule.terms.end(), [](const DTypeTerm& t) {
      return t.kind == DTypeTerm::Kind::kFixed;
    });
    if (declaring && !(declares_here && closed)) return;
    const std::vector<DType> allowed = admitted(rule, symbols_);
    if (allowed.empty())
      reject("the dtype of '" + name + "' (" + dtype_rule_text(rule) +
             ") cannot be determined from the arguments given");
    if (std::find(allowed.begin(), allowed.end(), spec.dtype) == allowed.end()) {
      std::string needed = dtypes_text(allowed);
      for (const DTypeTerm& term : rule.terms) {
        if (term.kind == DTypeTerm::Kind::kFixed) continue;
        if (const SymbolTable::Type* type = symbols_.type(term.symbol))
          needed += " (" + term.symbol + " = " + std::string(dtype_name(type->dtype)) + " from " +
                    type->origin + ")";
      }
      reject("'" + name + "' is " + std::string(dtype_name(spec.dtype)) + "; needed is " + needed);
    }
    if (declares_here) {
      symbols_.bind_type(rule.declares, spec.dtype, name);
    } else if (!rule.declares.empty()) {
      const SymbolTable::Type* type = symbols_.type(rule.declares);
      if (type->dtype != spec.dtype) {  // the later elements of a tensor list
        reject("'" + name + "' is " + std::string(dtype_name(spec.dtype)) + "; needed is " +
               std::string(dtype_name(type->dtype)) + ", as in " + type->origin);
      }
    }
  }

  void bind_integer_scalars() {
    for (std::size_t i = 0; i < problem_.values.size(); ++i) {
      const Parameter& p = problem_.contract->parameters[i];
      if (p.kind != Kind::kInt || !in_variant(p)) continue;
      const ParameterValue& value = problem_.values[i];
      if (value.scalar_given || !p.is_optional) {
        symbols_.bind_size(
            p.name, static_cast<std::int64_t>(value.scalar_given ? value.number : p.default_value),
            p.name);
      }
    }
  }

  void bind_batch(const TensorSpec& spec, const std::string& name, int batch_rank) {
    const auto sizes = spec.shape().first(static_cast<std::size_t>(batch_rank));
    if (!symbols_.batch_bound) {
      symbols_.batch_bound = true;
      symbols_.batch.assign(sizes.begin(), sizes.end());
      symbols_.batch_origin = name;
      return;
    }
    if (!std::equal(sizes.begin(), sizes.end(), symbols_.batch.begin(), symbols_.batch.end())) {
      reject("'" + name + "' has leading dimensions " + sizes_text(sizes) + ", but '" +
             symbols_.batch_origin + "' has " + sizes_text(symbols_.batch));
    }
  }

  void bind_shape(const Parameter& p, const TensorSpec& spec, const std::string& name) {
    const int fixed = static_cast<int>(p.shape.dims.size());
    const int batch_rank = spec.rank - fixed;
    if (batch_rank < 0 || (!p.shape.batch && batch_rank != 0)) {
      reject("'" + name + "' has shape " + sizes_text(spec.shape()) + "; needed is " +
             shape_text(p.shape));
    }
    check_memory(p, spec, name);
    if (p.shape.batch) bind_batch(spec, name, batch_rank);
    for (int i = 0; i < fixed; ++i) {
      const Dim& dim = p.shape.dims[static_cast<std::size_t>(i)];
      const std::int64_t size = spec.sizes[static_cast<std::size_t>(batch_rank + i)];
      solve(dim, size, name, batch_rank + i);
    }
  }

  // Binds the one open symbol of a dimension, if there is one. The rest is compared in
  // check_composite_dims, when every symbol is bound.
  void solve(const Dim& dim, std::int64_t size, const std::string& name, int index) {
    const std::string* open = nullptr;
    std::int64_t factor = dim.scale;
    bool free = size == kFreeDim;
    for (const std::string* symbol : {&dim.s, &dim.t}) {
      if (symbol->empty()) continue;
      if (const SymbolTable::Size* bound = symbols_.size(*symbol)) {
        free |= bound->value == kFreeDim;
        if (__builtin_mul_overflow(factor, bound->value, &factor)) return;
      } else if (open != nullptr) {
        return;
      } else {
        open = symbol;
      }
    }
    if (open == nullptr || (factor == 0 && !free)) return;
    const std::string origin = name + "[" + std::to_string(index) + "]";
    if (free) {
      symbols_.bind_size(*open, kFreeDim, origin);
      return;
    }
    if ((size - dim.offset) % factor != 0 || (size - dim.offset) / factor < 0) {
      reject("'" + name + "' has size " + std::to_string(size) + " in dimension " +
             std::to_string(index) + ", which is not of the form " +
             shape_text(Shape{false, {dim}}) +
             (dim.t.empty() ? "" : " with " + std::to_string(factor) + "*" + *open));
    }
    symbols_.bind_size(*open, (size - dim.offset) / factor, origin);
  }

  void check_composite_dims(const Parameter& p, const TensorSpec& spec, const std::string& name) {
    const int batch_rank = spec.rank - static_cast<int>(p.shape.dims.size());
    for (std::size_t i = 0; i < p.shape.dims.size(); ++i) {
      const Dim& dim = p.shape.dims[i];
      const auto needed = evaluate(dim, symbols_);
      if (!needed)
        reject("the symbol in " + shape_text(p.shape) + " of '" + name +
               "' cannot be determined from the arguments given");
      const std::int64_t size = spec.sizes[static_cast<std::size_t>(batch_rank) + i];
      if (size == *needed || size == kFreeDim || *needed == kFreeDim) continue;
      std::string why;
      if (const SymbolTable::Size* s = symbols_.size(dim.s))
        why = " (" + dim.s + " = " + std::to_string(s->value) + " from " + s->origin + ")";
      reject("'" + name + "' has size " + std::to_string(size) + " in dimension " +
             std::to_string(batch_rank + static_cast<int>(i)) + "; needed is " +
             std::to_string(*needed) + why);
    }
  }

  void check_symbol_ranges() {
    for (const Symbol& symbol : problem_.contract->symbols) {
      const SymbolTable::Size* bound = symbols_.size(symbol.name);
      if (bound == nullptr) continue;
      if (bound->value == kFreeDim) {
        if (symbol.variability == Variability::kStatic)
          reject("'" + symbol.name + "' (" + symbol.help +
                 ") is static and may not be '?'; give its size in " + bound->origin);
        continue;
      }
      if (bound->value < symbol.low || bound->value > symbol.high) {
        reject(symbol.name + " = " + std::to_string(bound->value) + " (" + symbol.help + ", from " +
               bound->origin + ") is outside " + std::to_string(symbol.low) + " to " +
               std::to_string(symbol.high));
      }
    }
  }

  void check_scalars() {
    for (std::size_t i = 0; i < problem_.values.size(); ++i) {
      const Parameter& p = problem_.contract->parameters[i];
      const ParameterValue& value = problem_.values[i];
      if (!p.is_scalar() || !in_variant(p) || (p.is_optional && !value.scalar_given)) continue;
      const double number = value.scalar_given ? value.number : p.default_value;
      if (number >= p.low && number <= p.high) continue;
      if (!value.scalar_given) {
        reject("'" + p.name + "' is missing (" + p.help + "); its range is " + number_text(p.low) +
               " to " + number_text(p.high));
      } else {  // also NaN
        reject("'" + p.name + "' is " + number_text(value.number) + "; its range is " +
               number_text(p.low) + " to " + number_text(p.high));
      }
    }
  }

  TensorSpec inferred(const Parameter& p) {
    TensorSpec spec;
    spec.present = true;
    const std::vector<DType> dtypes = admitted(p.dtype, symbols_);
    if (dtypes.empty())
      reject("the dtype of '" + p.name + "' (" + dtype_rule_text(p.dtype) +
             ") cannot be determined from the arguments given");
    spec.dtype = dtypes.front();
    std::vector<std::int64_t> sizes;
    if (p.shape.batch) sizes = symbols_.batch;
    for (const Dim& dim : p.shape.dims) {
      const auto size = evaluate(dim, symbols_);
      if (!size)
        reject("the shape of '" + p.name + "' " + shape_text(p.shape) +
               " cannot be determined from the arguments given");
      sizes.push_back(*size);
    }
    if (sizes.size() > kMaxRank)
      reject("'" + p.name + "' would have " + std::to_string(sizes.size()) +
             " dimensions; at most " + std::to_string(kMaxRank) + " are supported");
    spec.rank = static_cast<int>(sizes.size());
    std::copy(sizes.begin(), sizes.end(), spec.sizes.begin());
    check_memory(p, spec, p.name);
    return spec;
  }

  // An output with a rank below zero was asked for by `want_`, without a layout of its own.
  void infer_outputs() {
    for (std::size_t i = 0; i < problem_.values.size(); ++i) {
      const Parameter& p = problem_.contract->parameters[i];
      if (p.role != Role::kOutput || !in_variant(p)) continue;
      ParameterValue& value = problem_.values[i];
      if (p.kind == Kind::kTensorList) {
        infer_list(p, value);
        continue;
      }
      if (!value.tensor.present && p.is_optional) continue;
      const TensorSpec needed = inferred(p);
      if (!value.tensor.present || value.tensor.rank < 0) {
        value.tensor = needed;
      } else {
        compare_output(p.name, value.tensor, needed, p);
      }
    }
  }

  // One output per element of the first input list. A wanted list bears the mark of a wanted
  // tensor.
  void infer_list(const Parameter& p, ParameterValue& value) {
    const bool wanted = std::exchange(value.tensor, {}).present;
    if (!value.list_present && !wanted && p.is_optional) return;
    const ParameterValue* inputs = nullptr;
    const Parameter* input = nullptr;
    for (std::size_t i = 0; i < problem_.values.size() && inputs == nullptr; ++i) {
      const Parameter& other = problem_.contract->parameters[i];
      if (other.kind != Kind::kTensorList || other.role == Role::kOutput) continue;
      inputs = &problem_.values[i];
      input = &other;
    }
    const TensorSpec needed = inferred(p);
    if (!value.list_present) {
      value.list.assign(inputs == nullptr ? 0 : inputs->list.size(), needed);
      value.list_present = true;
      return;
    }
    if (inputs != nullptr && inputs->list.size() != value.list.size()) {
      reject("output '" + p.name + "' has " + std::to_string(value.list.size()) +
             " tensors, but '" + input->name + "' has " + std::to_string(inputs->list.size()));
    }
    for (std::size_t j = 0; j < value.list.size(); ++j) {
      if (!value.list[j].present)
        reject("output '" + element_name(p, j) + "' is absent; a list has no gaps");
      compare_output(element_name(p, j), value.list[j], needed, p);
    }
  }

  // A call that writes nothing is a mistake: a gate that runs it finds no fault.
  void check_effect() {
    std::string outputs;
    for (std::size_t i = 0; i < problem_.values.size(); ++i) {
      const Parameter& p = problem_.contract->parameters[i];
      if (!in_variant(p) || (p.role != Role::kOutput && p.role != Role::kMutated)) continue;
      if (is_wanted(i)) return;
      outputs += (outputs.empty() ? "" : ", ") + p.name;
      if (p.role == Role::kOutput) outputs += " (want_" + p.name + "=true)";
    }
    if (!outputs.empty()) reject("nothing would be written; give or want one of: " + outputs);
  }

  // Outputs of a group are wanted together.
  void check_groups() {
    for (std::size_t i = 0; i < problem_.values.size(); ++i) {
      const Parameter& p = problem_.contract->parameters[i];
      if (p.output_group.empty() || !in_variant(p) || !is_wanted(i)) continue;
      for (std::size_t j = 0; j < problem_.values.size(); ++j) {
        const Parameter& other = problem_.contract->parameters[j];
        if (other.output_group != p.output_group || !in_variant(other) || is_wanted(j)) continue;
        reject("output '" + p.name + "' is given without '" + other.name +
               "'; outputs of the group '" + p.output_group + "' are wanted together");
      }
    }
  }

  bool is_wanted(std::size_t index) const {
    return problem_.values[index].tensor.present || problem_.values[index].list_present;
  }

  void compare_output(const std::string& name, const TensorSpec& got, const TensorSpec& needed,
                      const Parameter& p) {
    const std::vector<DType> dtypes = admitted(p.dtype, symbols_);
    if (std::find(dtypes.begin(), dtypes.end(), got.dtype) == dtypes.end()) {
      reject("output '" + name + "' is " + std::string(dtype_name(got.dtype)) + "; needed is " +
             dtypes_text(dtypes));
    }
    if (!std::equal(got.shape().begin(), got.shape().end(), needed.shape().begin(),
                    needed.shape().end())) {
      reject("output '" + name + "' has shape " + sizes_text(got.shape()) + "; needed is " +
             sizes_text(needed.shape()));
    }
    check_memory(p, got, name);
  }

  Problem& problem_;
  SymbolTable& symbols_;
};

}  // namespace

void check(Problem& problem) { Checker(problem).run(); }

}  // namespace kw
