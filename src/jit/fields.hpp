// SPDX-License-Identifier: Apache-2.0
// The field visit of a Cfg: a structural value whose `static constexpr void visit(auto& self, auto&
// v)` calls `v(name, self.field)` for every field, enums with their names: `v(name, self.isa,
// kIsaNames)`. Text, source, pins, description and request schema all come from that one visit; a
// field that is not visited does not compile. Members: bool, int, long long, enum class : int
// counted from 0, structs of these. No floats, no arrays: clang 14 crashes on the first, the second
// break the field count.
#pragma once

#include <cstddef>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernelwright/base/text.hpp"
#include "kernelwright/core/implementation.hpp"

namespace kw::jit {

struct AnyField {
  template <typename T>
  constexpr operator T() const;  // never defined: only asked whether it would convert
};

// Number of members of an aggregate.
template <typename T, typename... Fields>
constexpr int field_count() {
  if constexpr (requires { T{Fields{}..., AnyField{}}; }) {
    return field_count<T, Fields..., AnyField>();
  } else {
    return sizeof...(Fields);
  }
}

template <typename T>
concept CfgEnum = std::is_enum_v<T> && std::is_same_v < std::underlying_type_t<T>,
int > ;
template <typename T>
concept CfgInteger = std::is_same_v<T, int> || std::is_same_v<T, long long>;

struct FieldCheck {
  int count = 0;

  template <typename T, typename... Names>
  constexpr void operator()(const char*, const T&, const Names&...) {
    static_assert(std::is_same_v<T, bool> || CfgInteger<T> || CfgEnum<T> || std::is_class_v<T>,
                  "a Cfg field is a bool, int, long long, enum class : int or a struct of these");
    static_assert(CfgEnum<T> == (sizeof...(Names) == 1),
                  "an enum field, and no other, is visited with the names of its values");
    if constexpr (std::is_class_v<T>) require_complete<T>();
    ++count;
  }

  template <typename Cfg>
  static constexpr void require_complete() {
    constexpr int kVisited = [] {
      Cfg cfg{};
      FieldCheck check;
      Cfg::visit(cfg, check);
      return check.count;
    }();
    static_assert(kVisited == field_count<Cfg>(), "Cfg::visit must name every member once");
  }
};

// Compile-time check that visit() reaches every member, and that each is one we can render.
template <typename Cfg>
constexpr void require_complete_visit() {
  FieldCheck::require_complete<Cfg>();
}

// Spells a Cfg as `{.field = <spelling>}`: the fields that differ from the default, in visit order.
// `spell(name, value, names...)` must answer differently for different values.
template <typename Cfg, typename Spell>
std::string cfg_initializer(const Cfg& cfg, const Spell& spell) {
  require_complete_visit<Cfg>();
  std::vector<std::string> defaults, parts;
  const auto collect = [&](const char* name, const auto& value, const auto&... names) {
    defaults.push_back(spell(name, value, names...));
  };
  std::size_t index = 0;
  const auto compare = [&](const char* name, const auto& value, const auto&... names) {
    const std::string text = spell(name, value, names...);
    if (text != defaults[index++]) parts.push_back("." + std::string(name) + " = " + text);
  };
  const Cfg unchanged{};
  Cfg::visit(unchanged, collect);
  Cfg::visit(cfg, compare);
  return "{" + join(parts) + "}";
}

template <typename Cfg>
std::string cfg_text(const Cfg& cfg);

// Spelling of one value for people: "avx512", "true", "{.width = 4}".
template <typename T, typename... Names>
std::string value_text(const T& value, const Names&... names) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    return (names[static_cast<std::size_t>(value)], ...);
  } else if constexpr (CfgInteger<T>) {
    return std::to_string(value);
  } else {
    return cfg_text(value);
  }
}

// For people, reports and pins: the text that identifies a specialization.
template <typename Cfg>
std::string cfg_text(const Cfg& cfg) {
  return cfg_initializer(cfg, [](const char*, const auto& value, const auto&... names) {
    return value_text(value, names...);
  });
}

// As C++: the initialiser of a `Cfg` in a rendered unit, where that name is the type. An enumerator
// is spelled by its number, `static_cast<decltype(Cfg::isa)>(1)`, for names of types and
// enumerators are not to be had from a value; the comment of the unit has the words.
template <typename Cfg>
std::string cfg_source(const Cfg& cfg, const std::string& scope = "Cfg::") {
  return cfg_initializer(cfg, [&](const char* name, const auto& value, const auto&...) {
    using T = std::remove_cvref_t<decltype(value)>;
    const std::string path = scope + name;
    if constexpr (std::is_enum_v<T>) {
      return "static_cast<decltype(" + path + ")>(" + std::to_string(static_cast<int>(value)) + ")";
    } else if constexpr (std::is_class_v<T>) {
      return cfg_source(value, path + ".");
    } else if constexpr (CfgInteger<T>) {
      // The most negative number has no literal of its own type.
      if (value == std::numeric_limits<T>::min()) return std::to_string(value + 1) + " - 1";
      return std::to_string(value);
    } else {
      return value_text(value);
    }
  });
}

// Every field with its value, nested ones as "inner.width".
template <typename Cfg>
PlanFacts describe_cfg(const Cfg& cfg, const std::string& scope = "") {
  require_complete_visit<Cfg>();
  PlanFacts facts;
  const auto add = [&](const char* name, const auto& value, const auto&... names) {
    if constexpr (std::is_class_v<std::remove_cvref_t<decltype(value)>>) {
      const PlanFacts nested = describe_cfg(value, scope + name + ".");
      facts.insert(facts.end(), nested.begin(), nested.end());
    } else {
      facts.emplace_back(scope + name, value_text(value, names...));
    }
  };
  Cfg::visit(cfg, add);
  return facts;
}

// What a request may set.
struct FieldSchema {
  std::string name;
  std::string kind;  // "bool", "int", "int64", "enum", "struct"
  std::string default_text;
  std::vector<std::string> values;  // of an enum, in the order of their numbers
  std::vector<FieldSchema> fields;  // of a struct
};

template <typename Cfg>
std::vector<FieldSchema> cfg_schema() {
  require_complete_visit<Cfg>();
  std::vector<FieldSchema> fields;
  const auto add = [&](const char* name, const auto& value, const auto&... names) {
    using T = std::remove_cvref_t<decltype(value)>;
    FieldSchema field{name, "", value_text(value, names...), {}, {}};
    if constexpr (std::is_class_v<T>) {
      field.kind = "struct";
      field.fields = cfg_schema<T>();
    } else if constexpr (std::is_enum_v<T>) {
      field.kind = "enum";
      (field.values.assign(std::begin(names), std::end(names)), ...);
    } else {
      field.kind = std::is_same_v<T, bool> ? "bool" : std::is_same_v<T, int> ? "int" : "int64";
    }
    fields.push_back(std::move(field));
  };
  const Cfg defaults{};
  Cfg::visit(defaults, add);
  return fields;
}

// [{"name", "kind", "default", "values"?, "fields"?}], defaults as JSON values, enums by name.
std::string schema_json(const std::vector<FieldSchema>& fields);

// Assignments to fields, from a command line or a request.
class FieldAssignments {
 public:
  // `origin` opens every message: "--cfg", "request".
  FieldAssignments(const CfgPins& values, std::string_view origin)
      : values_(values), origin_(origin) {}

  template <typename Cfg>
  void apply(Cfg& cfg) {
    require_complete_visit<Cfg>();
    known_.clear();
    apply_at(cfg, "");
    require_known();
  }

 private:
  template <typename Cfg>
  void apply_at(Cfg& cfg, const std::string& scope) {
    const auto assign = [&](const char* name, auto& value, const auto&... names) {
      using T = std::remove_cvref_t<decltype(value)>;
      const std::string path = scope + name;
      if constexpr (std::is_class_v<T>) {
        refuse_struct(path);
        apply_at(value, path + ".");
      } else {
        const std::string* text = find(path);
        if (text == nullptr) return;
        if constexpr (std::is_same_v<T, bool>) {
          value = read_bool(path, *text);
        } else if constexpr (std::is_enum_v<T>) {
          std::vector<std::string> known;
          (known.assign(std::begin(names), std::end(names)), ...);
          value = static_cast<T>(read_enum(path, *text, known));
        } else {
          using Limits = std::numeric_limits<T>;
          value = static_cast<T>(read_integer(path, *text, Limits::min(), Limits::max()));
        }
      }
    };
    Cfg::visit(cfg, assign);
  }

  const std::string* find(const std::string& path);
  void refuse_struct(const std::string& path) const;
  void require_known() const;
  bool read_bool(const std::string& path, const std::string& text) const;
  int read_enum(const std::string& path, const std::string& text,
                const std::vector<std::string>& known) const;
  long long read_integer(const std::string& path, const std::string& text, long long least,
                         long long most) const;

  const CfgPins& values_;
  std::string origin_;
  std::vector<std::string> known_;
};

// Sets the fields named in `pins`, nested ones as "inner.width". Throws
// Error(kNotFound | kInvalidArgument) with the fields or values that exist.
template <typename Cfg>
void apply_pins(Cfg& cfg, const CfgPins& pins) {
  FieldAssignments(pins, "--cfg").apply(cfg);
}

// Members of a JSON object as text, those of nested objects as "inner.width". Throws
// Error(kInvalidArgument) for anything but objects, booleans, integers and strings.
CfgPins request_fields(std::string_view json);

// Sets the fields that a request names; the others keep their value. Throws as apply_pins.
template <typename Cfg>
void apply_request(Cfg& cfg, std::string_view json) {
  const CfgPins fields = request_fields(json);
  FieldAssignments(fields, "request").apply(cfg);
}

}  // namespace kw::jit
