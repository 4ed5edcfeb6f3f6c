// SPDX-License-Identifier: Apache-2.0
// Problem to text and back; the grammar stands in problem.hpp.
#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/core/problem.hpp"

namespace kw {
namespace {

constexpr std::string_view kWant = "want_";
constexpr std::string_view kNeedsGrad = "needs_grad";

std::string integers_text(std::span<const std::int64_t> values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) text += ',';
    text += values[i] == kFreeDim ? "?" : std::to_string(values[i]);
  }
  return text + "]";
}

std::string tensor_text(const TensorSpec& spec) {
  std::string text = std::string(dtype_name(spec.dtype)) + integers_text(spec.shape());
  if (!spec.contiguous) text += ":" + integers_text(spec.pitches());
  if (spec.align < 16) text += "@" + std::to_string(spec.align);
  if (!spec.content.empty()) text += "~" + spec.content;
  return text;
}

std::string list_text(const std::vector<TensorSpec>& list) {
  const bool uniform =
      !list.empty() &&
      std::all_of(list.begin(), list.end(), [&](const TensorSpec& t) { return t == list.front(); });
  if (uniform) return tensor_text(list.front()) + "*" + std::to_string(list.size());
  std::vector<std::string> parts;
  for (const TensorSpec& spec : list) parts.push_back(tensor_text(spec));
  return "(" + join(parts, ";") + ")";
}

std::string scalar_text(const Parameter& p, double number) {
  switch (p.kind) {
    case Kind::kBool:
      return number != 0 ? "true" : "false";
    case Kind::kEnum: {
      const auto index = static_cast<std::size_t>(number);
      return index < p.choices.size() ? p.choices[index]
                                      : number_text(number);  // unchecked problems
    }
    case Kind::kInt:
      return std::to_string(static_cast<long long>(number));
    default:
      return number_text(number);
  }
}

// Whether check() would fill in the same output.
bool is_inferable(const Problem& problem, const Parameter& p, const ParameterValue& value) {
  const std::vector<DType> dtypes = admitted(p.dtype, problem.symbols);
  const auto plain = [&](const TensorSpec& spec) {
    return spec.contiguous && spec.align == 16 && (dtypes.empty() || spec.dtype == dtypes.front());
  };
  return value.list_present ? std::all_of(value.list.begin(), value.list.end(), plain)
                            : value.tensor.rank < 0 || plain(value.tensor);
}

// Reads one problem text; every complaint quotes the piece it is about.
class Reader {
 public:
  Reader(std::string_view text, Problem& problem) : text_(text), problem_(problem) {}

  void assign(std::string_view name, std::string_view value) {
    if (name == kNeedsGrad) {
      if (parse_bool(name, value)) want_saved();
      return;
    }
    if (name.starts_with(kWant)) {
      want(name, name.substr(kWant.size()), parse_bool(name, value));
      return;
    }
    const Parameter& p = find(name);
    ParameterValue& slot = problem_.value(name);
    const bool marked = slot.tensor.present && slot.tensor.rank < 0;  // wanted with its group
    if ((slot.tensor.present && !marked) || slot.list_present || slot.scalar_given)
      reject("'" + std::string(name) + "' is given twice");
    if (p.kind == Kind::kTensor) {
      slot.tensor = parse_tensor(name, value);
    } else if (p.kind == Kind::kTensorList) {
      slot.list = parse_list(name, value);
      slot.list_present = true;
    } else {
      slot.number = parse_scalar(p, value);
      slot.scalar_given = true;
    }
  }

  [[noreturn]] void reject(const std::string& what) const {
    fail(Code::kInvalidArgument, "problem '{}': {}", text_, what);
  }

 private:
  const Parameter& find(std::string_view name) const {
    if (const int index = problem_.contract->find_parameter(name); index >= 0)
      return problem_.contract->parameters[static_cast<std::size_t>(index)];
    std::vector<std::string> names;
    for (const Parameter& p : problem_.contract->parameters) {
      names.push_back(p.name);
      if (p.role == Role::kOutput && p.is_optional) names.push_back(std::string(kWant) + p.name);
    }
    reject(unknown_name_message("parameter", name, names));
  }

  bool parse_bool(std::string_view name, std::string_view value) const {
    if (value == "true") return true;
    if (value == "false") return false;
    reject("'" + std::string(name) + "' is '" + std::string(value) + "'; it takes true or false");
  }

  void want_saved() {
    for (std::size_t i = 0; i < problem_.values.size(); ++i) {
      const Parameter& p = problem_.contract->parameters[i];
      if (p.is_saved && p.in_variant(problem_.variant_name())) mark_wanted(problem_.values[i]);
    }
  }

  void want(std::string_view flag, std::string_view name, bool wanted) {
    const int index = problem_.contract->find_parameter(name);
    if (index < 0) find(flag);  // rejects with the candidates
    const Parameter& p = problem_.contract->parameters[static_cast<std::size_t>(index)];
    if (p.role != Role::kOutput || !p.is_optional)
      reject("'" + std::string(flag) + "': '" + p.name + "' is not an optional output");
    if (!wanted) return;
    if (!p.in_variant(problem_.variant_name()))
      reject("'" + std::string(flag) + "': variant '" + problem_.variant_name() +
             "' has no such output");
    for (std::size_t i = 0; i < problem_.values.size(); ++i) {
      const Parameter& other = problem_.contract->parameters[i];
      const bool same_group = !p.output_group.empty() && other.output_group == p.output_group;
      if (&other == &p || same_group) mark_wanted(problem_.values[i]);
    }
  }

  // check() infers the layout of a wanted output.
  static void mark_wanted(ParameterValue& value) {
    if (value.tensor.present) return;
    value.tensor.present = true;
    value.tensor.rank = -1;
  }

  std::vector<std::int64_t> parse_integers(std::string_view name, std::string_view body,
                                           bool free_allowed) const {
    std::vector<std::int64_t> values;
    if (body.empty()) return values;
    for (const std::string& part : split(body, ',')) {
      if (free_allowed && part == "?") {
        values.push_back(kFreeDim);
        continue;
      }
      const auto value = parse_integer(part);
      if (!value || (free_allowed && *value < 0)) {
        reject("'" + std::string(name) + "': '" + part + "' is not a " +
               (free_allowed ? "size (a non-negative integer or '?')" : "stride (an integer)"));
      }
      values.push_back(*value);
    }
    return values;
  }

  TensorSpec parse_tensor(std::string_view name, std::string_view value) const {
    TensorSpec spec;
    spec.present = true;
    const std::size_t open = value.find('['), close = value.find(']');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
      reject("'" + std::string(name) + "' is '" + std::string(value) +
             "'; a tensor looks like bf16[4096,7168]");
    }
    const auto dtype = parse_dtype(value.substr(0, open));
    if (!dtype)
      reject("'" + std::string(name) + "': " + unknown_dtype_message(value.substr(0, open)));
    spec.dtype = *dtype;
    const auto sizes = parse_integers(name, value.substr(open + 1, close - open - 1), true);
    if (sizes.size() > kMaxRank)
      reject("'" + std::string(name) + "' has " + std::to_string(sizes.size()) +
             " dimensions; at most " + std::to_string(kMaxRank) + " are supported");
    spec.rank = static_cast<int>(sizes.size());
    std::copy(sizes.begin(), sizes.end(), spec.sizes.begin());
    parse_layout(name, value.substr(close + 1), spec);
    return spec;
  }

  // [":[" strides "]"] ["@" align] ["~" content]
  void parse_layout(std::string_view name, std::string_view rest, TensorSpec& spec) const {
    if (rest.starts_with(":[")) {
      const std::size_t close = rest.find(']');
      if (close == std::string_view::npos)
        reject("'" + std::string(name) + "': the strides lack a ']'");
      const auto strides = parse_integers(name, rest.substr(2, close - 2), false);
      if (static_cast<int>(strides.size()) != spec.rank) {
        reject("'" + std::string(name) + "' has " + std::to_string(spec.rank) + " dimensions but " +
               std::to_string(strides.size()) + " strides");
      }
      std::copy(strides.begin(), strides.end(), spec.strides.begin());
      normalise_layout(spec);
      rest = rest.substr(close + 1);
    }
    if (rest.starts_with('@')) {
      const std::size_t end = std::min(rest.find('~'), rest.size());
      const auto align = parse_integer(rest.substr(1, end - 1));
      const bool power = align && *align > 0 && *align <= 16 && (*align & (*align - 1)) == 0;
      if (!power || *align < static_cast<long long>(dtype_bytes(spec.dtype))) {
        reject("'" + std::string(name) + "': alignment '" + std::string(rest.substr(1, end - 1)) +
               "' is not a power of two from the element size to 16");
      }
      spec.align = static_cast<int>(*align);
      rest = rest.substr(end);
    }
    if (rest.starts_with('~')) {
      spec.content = rest.substr(1);
      const bool word = !spec.content.empty() &&
                        std::all_of(spec.content.begin(), spec.content.end(), [](char c) {
                          return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
                        });
      if (!word)
        reject("'" + std::string(name) + "': '~" + spec.content +
               "' does not name a fill class such as ~offsets");
      rest = {};
    }
    if (!rest.empty())
      reject("'" + std::string(name) + "': cannot read '" + std::string(rest) +
             "'; after the sizes come :[strides], @align and ~content");
  }

  // Strides that say no more than "contiguous" are dropped, so that equal layouts have equal text.
  static void normalise_layout(TensorSpec& spec) {
    spec.contiguous = false;
    if (spec.has_free_dim()) return;
    if (view_of(spec, nullptr).contiguous()) {
      spec.contiguous = true;
      spec.strides = {};
    }
  }

  std::vector<TensorSpec> parse_list(std::string_view name, std::string_view value) const {
    std::vector<TensorSpec> list;
    if (value.starts_with('(') && value.ends_with(')')) {
      const std::string_view body = value.substr(1, value.size() - 2);
      if (body.empty()) return list;
      for (const std::string& part : split(body, ';')) list.push_back(parse_tensor(name, part));
      return list;
    }
    const std::size_t star = value.rfind('*');
    const auto count =
        star == std::string_view::npos ? std::nullopt : parse_integer(value.substr(star + 1));
    if (!count || *count < 0 || *count > 65536) {
      reject("'" + std::string(name) + "' is '" + std::string(value) +
             "'; a tensor list looks like f32[8,4]*3 or (f32[8,4];f32[2,4])");
    }
    list.assign(static_cast<std::size_t>(*count), parse_tensor(name, value.substr(0, star)));
    return list;
  }

  double parse_scalar(const Parameter& p, std::string_view value) const {
    switch (p.kind) {
      case Kind::kBool:
        return parse_bool(p.name, value) ? 1 : 0;
      case Kind::kEnum: {
        const auto it = std::find(p.choices.begin(), p.choices.end(), value);
        if (it == p.choices.end())
          reject(unknown_name_message("value of '" + p.name + "'", value, p.choices));
        return static_cast<double>(it - p.choices.begin());
      }
      case Kind::kInt: {
        const auto number = parse_integer(value);
        if (!number)
          reject("'" + p.name + "' is '" + std::string(value) + "'; it takes an integer");
        return static_cast<double>(*number);
      }
      default: {
        const auto number = parse_number(value);
        if (!number) reject("'" + p.name + "' is '" + std::string(value) + "'; it takes a number");
        return *number;
      }
    }
  }

  std::string_view text_;
  Problem& problem_;
};

// Position of `}` that closes the list opened at `open`.
std::size_t closing_brace(std::string_view text, std::size_t open) {
  const std::size_t close = text.find('}', open);
  const std::size_t nested = text.find('{', open + 1);
  if (close == std::string_view::npos || nested < close) {
    fail(Code::kInvalidArgument, "problem '{}': a value list is written {{a,b}} and is not nested",
         text);
  }
  return close;
}

}  // namespace

std::string problem_text(const Problem& problem) {
  std::string text = problem.label();
  for (std::size_t i = 0; i < problem.values.size(); ++i) {
    const Parameter& p = problem.contract->parameters[i];
    const ParameterValue& value = problem.values[i];
    if (p.is_scalar()) {
      const bool is_default = !p.is_optional && value.number == p.default_value;
      if (value.scalar_given && !is_default)
        text += " " + p.name + "=" + scalar_text(p, value.number);
    } else if (p.role == Role::kOutput) {
      if (!value.tensor.present && !value.list_present) continue;
      if (!is_inferable(problem, p, value)) {
        text += " " + p.name + "=" +
                (value.list_present ? list_text(value.list) : tensor_text(value.tensor));
      } else if (p.is_optional) {
        text += " " + std::string(kWant) + p.name + "=true";
      }
    } else if (p.kind == Kind::kTensorList) {
      if (value.list_present) text += " " + p.name + "=" + list_text(value.list);
    } else if (value.tensor.present) {
      text += " " + p.name + "=" + tensor_text(value.tensor);
    }
  }
  return text;
}

Problem parse_problem(std::string_view text, const ContractSource& contracts) {
  std::vector<std::string> words = split(trim(text), ' ');
  std::erase(words, "");
  if (words.empty())
    fail(Code::kInvalidArgument,
         "the problem text is empty; it looks like 'operation/variant name=value ...'");
  const std::size_t slash = words[0].find('/');
  const std::string operation = words[0].substr(0, slash);
  const Contract* contract = contracts.find_contract(operation);
  if (contract == nullptr)
    fail_text(Code::kNotFound,
              "problem '" + std::string(text) + "': " +
                  unknown_name_message("operation", operation, contracts.operation_names()));
  // A single variant need not be named.
  if (slash == std::string::npos && contract->variants.size() > 1) {
    std::vector<std::string> variants;
    for (const Variant& v : contract->variants) variants.push_back(operation + "/" + v.name);
    fail(Code::kInvalidArgument, "problem '{}': '{}' has several variants; write one of {}", text,
         operation, join(variants));
  }
  Problem problem =
      make_problem(*contract, slash == std::string::npos ? contract->variants[0].name
                                                         : words[0].substr(slash + 1));
  Reader reader(text, problem);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equal = words[i].find('=');
    if (equal == std::string::npos || equal == 0)
      reader.reject("'" + words[i] + "' is not of the form name=value");
    reader.assign(std::string_view(words[i]).substr(0, equal),
                  std::string_view(words[i]).substr(equal + 1));
  }
  check(problem);
  return problem;
}

std::vector<std::string> expand_problem_text(std::string_view text) {
  const std::size_t open = text.find('{');
  if (open == std::string_view::npos) {
    if (text.find('}') != std::string_view::npos)
      fail(Code::kInvalidArgument, "problem '{}': a '}}' without its '{{'", text);
    return {std::string(text)};
  }
  const std::size_t close = closing_brace(text, open);
  std::string_view body = text.substr(open + 1, close - open - 1);
  std::string again;  // how later text repeats the value of a named list
  if (const std::size_t colon = body.find(':'); colon != std::string_view::npos) {
    again = "{" + std::string(trim(body.substr(0, colon))) + "}";
    body = body.substr(colon + 1);
  }
  std::vector<std::string> expanded;
  for (const std::string& part : split(body, ',')) {
    const std::string value(trim(part));
    std::string rest(text.substr(close + 1));
    for (std::size_t at = again.empty() ? std::string::npos : rest.find(again);
         at != std::string::npos; at = rest.find(again, at + value.size())) {
      rest.replace(at, again.size(), value);
    }
    for (std::string& one : expand_problem_text(std::string(text.substr(0, open)) + value + rest)) {
      expanded.push_back(std::move(one));
    }
  }
  return expanded;
}

}  // namespace kw
