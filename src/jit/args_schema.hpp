// SPDX-License-Identifier: Apache-2.0
// The wire schema of a kernel's argument struct, from the one list of its fields:
// `static constexpr void visit(auto& self, auto& v)` calls `v(name, self.field)` in the order of
// declaration, enums with the names of their values. A list that misses or swaps fields does not
// compile.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "kernelwright/jit/fields.hpp"

namespace kw::jit {

struct ArgField {
  std::string name;
  std::string kind;  // "pointer", "bool", "i32", "i64", "u32", "u64", "f32", "f64", "enum", "bytes"
  std::size_t offset = 0, size = 0;
  int count = 1;                    // elements of an array
  std::vector<std::string> values;  // of an enum, in the order of their numbers
};

template <typename T>
concept ArgsStruct =
    std::is_class_v<T> && std::is_standard_layout_v<T> && std::is_trivially_copyable_v<T>;

template <typename T>
constexpr const char* arg_kind() {
  if constexpr (std::is_pointer_v<T>)
    return "pointer";
  else if constexpr (std::is_same_v<T, bool>)
    return "bool";
  else if constexpr (CfgEnum<T>)
    return "enum";
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
    return std::is_signed_v<T> ? "i32" : "u32";
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
    return std::is_signed_v<T> ? "i64" : "u64";
  else if constexpr (std::is_same_v<T, float>)
    return "f32";
  else if constexpr (std::is_same_v<T, double>)
    return "f64";
  else
    return ArgsStruct<T> ? "bytes" : nullptr;
}

// Whether `a` lies below `b` in one object. Each compiler evaluates one of the two at compile time:
// g++ the comparison of addresses, clang++ the number of bytes from an address to the object's end.
template <typename Last, typename Field>
constexpr bool lies_below(const Last* a, const Field* b) {
#ifdef __clang__
  return __builtin_object_size(a, 0) > __builtin_object_size(b, 0);
#else
  return a < b;
#endif
}

// Walks the fields at compile time: their addresses must rise. An array counts as its elements, as
// brace elision has it in field_count().
struct ArgsCheck {
  const void* last = nullptr;
  int count = 0;
  bool rising = true;

  template <typename T, typename... Names>
  constexpr void operator()(const char*, const T& field, const Names&...) {
    static_assert(
        arg_kind<std::remove_all_extents_t<T>>() != nullptr && std::rank_v<T> <= 1,
        "an argument is a pointer, bool, int, long long, their unsigned kin, float, double, "
        "enum class : int, a plain struct, or an array of one of these");
    static_assert(CfgEnum<T> == (sizeof...(Names) == 1),
                  "an enum argument, and no other, is visited with the names of its values");
    // Not whether `last` is null: with -fsanitize=undefined g++ 12 cannot compare it at compile
    // time.
    rising = rising && (count == 0 || lies_below(last, &field));
    last = &field;
    count += std::is_array_v<T> ? static_cast<int>(std::extent_v<T>) : 1;
  }
};

template <typename Args>
constexpr Args kNoArguments{};

template <typename Args>
constexpr ArgsCheck walk_args() {
  ArgsCheck check;
  Args::visit(kNoArguments<Args>, check);
  return check;
}

template <typename Args>
constexpr void require_complete_args() {
  static_assert(ArgsStruct<Args>, "kernel arguments are a plain struct, copied as bytes");
  static_assert(walk_args<Args>().count == field_count<Args>(),
                "Args::visit must name every member once");
  static_assert(walk_args<Args>().rising,
                "Args::visit must name members in the order of declaration");
}

template <typename Args>
std::vector<ArgField> args_schema() {
  require_complete_args<Args>();
  std::vector<ArgField> fields;
  const Args args{};
  const auto add = [&](const char* name, const auto& field, const auto&... names) {
    using T = std::remove_cvref_t<decltype(field)>;
    using Element = std::remove_all_extents_t<T>;
    const auto offset =
        reinterpret_cast<const std::byte*>(&field) - reinterpret_cast<const std::byte*>(&args);
    ArgField entry{name, arg_kind<Element>(), static_cast<std::size_t>(offset), sizeof(T), 1, {}};
    if constexpr (std::is_array_v<T>) entry.count = static_cast<int>(std::extent_v<T>);
    (entry.values.assign(std::begin(names), std::end(names)), ...);
    fields.push_back(std::move(entry));
  };
  Args::visit(args, add);
  return fields;
}

// {"size", "fields": [{"name", "kind", "offset", "size", "count"?, "values"?}]}.
std::string schema_json(const std::vector<ArgField>& fields, std::size_t size);

}  // namespace kw::jit
