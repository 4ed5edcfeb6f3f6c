// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/dims.hpp"

#include <algorithm>
#include <cctype>
#include <limits>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"

namespace kw {
namespace {

bool is_identifier(std::string_view text) noexcept {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

// One product term such as "2*S", "S*T", "64".
void multiply_in(Dim& dim, std::string_view term, std::string_view whole) {
  for (const std::string& factor_text : split(term, '*')) {
    const std::string_view factor = trim(factor_text);
    if (const auto number = parse_integer(factor)) {
      dim.scale *= *number;
    } else if (is_identifier(factor) && dim.s.empty()) {
      dim.s = factor;
    } else if (is_identifier(factor) && dim.t.empty()) {
      dim.t = factor;
    } else {
      fail(Code::kInternal, "dimension '{}' is not of the form a*S*T+b", whole);
    }
  }
}

Dim parse_dim(std::string_view text) {
  Dim dim;
  const std::size_t sign = text.find_first_of("+-", 1);
  multiply_in(dim, text.substr(0, sign), text);
  if (sign != std::string_view::npos) {
    const auto offset = parse_integer(trim(text.substr(sign + 1)));
    if (!offset) fail(Code::kInternal, "dimension '{}' is not of the form a*S*T+b", text);
    dim.offset = text[sign] == '-' ? -*offset : *offset;
  }
  if (dim.s.empty()) {  // a plain number
    dim.offset += dim.scale;
    dim.scale = 0;
  }
  return dim;
}

std::string dim_text(const Dim& dim) {
  if (dim.s.empty()) return std::to_string(dim.offset);
  std::string text = dim.scale == 1 ? dim.s : std::to_string(dim.scale) + "*" + dim.s;
  if (!dim.t.empty()) text += "*" + dim.t;
  if (dim.offset > 0) text += "+" + std::to_string(dim.offset);
  if (dim.offset < 0) text += std::to_string(dim.offset);
  return text;
}

}  // namespace

Shape parse_shape(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
    fail(Code::kInternal, "shape '{}' is not of the form [*, C]", text);
  }
  Shape shape;
  const std::string_view inside = trim(text.substr(1, text.size() - 2));
  if (inside.empty()) return shape;
  for (const std::string& part : split(inside, ',')) {
    const std::string_view dim = trim(part);
    if (dim == "*") {
      if (shape.batch || !shape.dims.empty())
        fail(Code::kInternal, "shape '{}': '*' stands first and once", text);
      shape.batch = true;
    } else {
      shape.dims.push_back(parse_dim(dim));
    }
  }
  return shape;
}

std::string shape_text(const Shape& shape) {
  std::vector<std::string> parts;
  if (shape.batch) parts.emplace_back("*");
  for (const Dim& dim : shape.dims) parts.push_back(dim_text(dim));
  return "[" + join(parts) + "]";
}

DTypeRule parse_dtype_rule(std::string_view text) {
  DTypeRule rule;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    rule.declares = trim(text.substr(0, colon));
    text = text.substr(colon + 1);
  }
  for (const std::string& part : split(text, '|')) {
    const std::string_view term = trim(part);
    if (const auto dtype = parse_dtype(term)) {
      rule.terms.push_back({DTypeTerm::Kind::kFixed, *dtype, {}});
    } else if (term.starts_with("acc(") && term.ends_with(')')) {
      rule.terms.push_back(
          {DTypeTerm::Kind::kAccumulator, {}, std::string(term.substr(4, term.size() - 5))});
    } else if (is_identifier(term)) {
      rule.terms.push_back({DTypeTerm::Kind::kSymbol, {}, std::string(term)});
    } else {
      fail(Code::kInternal, "dtype rule '{}': '{}' is neither a dtype, a symbol nor acc(symbol)",
           text, term);
    }
  }
  return rule;
}

std::string dtype_rule_text(const DTypeRule& rule) {
  std::vector<std::string> parts;
  for (const DTypeTerm& term : rule.terms) {
    switch (term.kind) {
      case DTypeTerm::Kind::kFixed:
        parts.emplace_back(dtype_name(term.dtype));
        break;
      case DTypeTerm::Kind::kSymbol:
        parts.push_back(term.symbol);
        break;
      case DTypeTerm::Kind::kAccumulator:
        parts.push_back("acc(" + term.symbol + ")");
        break;
    }
  }
  return (rule.declares.empty() ? "" : rule.declares + ": ") + join(parts, "|");
}

const SymbolTable::Size* SymbolTable::size(std::string_view name) const noexcept {
  const auto it =
      std::find_if(sizes_.begin(), sizes_.end(), [&](const Size& s) { return s.name == name; });
  return it == sizes_.end() ? nullptr : &*it;
}

const SymbolTable::Type* SymbolTable::type(std::string_view name) const noexcept {
  const auto it =
      std::find_if(types_.begin(), types_.end(), [&](const Type& t) { return t.name == name; });
  return it == types_.end() ? nullptr : &*it;
}

void SymbolTable::bind_size(std::string name, std::int64_t value, std::string origin) {
  sizes_.push_back({std::move(name), value, std::move(origin)});
}

void SymbolTable::bind_type(std::string name, DType dtype, std::string origin) {
  types_.push_back({std::move(name), dtype, std::move(origin)});
}

std::optional<std::int64_t> evaluate(const Dim& dim, const SymbolTable& symbols) noexcept {
  std::int64_t product = dim.scale;
  bool free = false, overflow = false;
  for (const std::string* name : {&dim.s, &dim.t}) {
    if (name->empty()) continue;
    const SymbolTable::Size* size = symbols.size(*name);
    if (size == nullptr) return std::nullopt;
    if (size->value == kFreeDim) free = true;
    overflow |= __builtin_mul_overflow(product, size->value, &product);
  }
  if (free) return kFreeDim;
  overflow |= __builtin_add_overflow(product, dim.offset, &product);
  return overflow ? std::numeric_limits<std::int64_t>::max() : product;  // no tensor is that large
}

std::vector<DType> admitted(const DTypeRule& rule, const SymbolTable& symbols) {
  std::vector<DType> dtypes;
  for (const DTypeTerm& term : rule.terms) {
    if (term.kind == DTypeTerm::Kind::kFixed) {
      dtypes.push_back(term.dtype);
      continue;
    }
    const SymbolTable::Type* type = symbols.type(term.symbol);
    if (type == nullptr) continue;
    dtypes.push_back(term.kind == DTypeTerm::Kind::kSymbol ? type->dtype
                                                           : accumulation_dtype(type->dtype));
  }
  return dtypes;
}

}  // namespace kw
