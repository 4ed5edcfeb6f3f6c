// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"

namespace kw {
namespace {

constexpr std::string_view kPrefix = "KW_";
constexpr std::string_view kOverridePrefix = "KW_OVERRIDE_";
constexpr int kMaxThreads = 4096;

[[noreturn]] void malformed(std::string_view name, std::string_view value,
                            std::string_view expected) {
  fail(Code::kInvalidArgument, "{}='{}': expected {}; correct it or unset it", name, value,
       expected);
}

std::vector<std::string> non_empty(std::string_view text, char separator) {
  std::vector<std::string> parts = split(text, separator);
  std::erase(parts, "");
  return parts;
}

bool read_flag(std::string_view name, std::string_view value) {
  if (value == "1" || value == "true" || value == "on") return true;
  if (value == "0" || value == "false" || value == "off") return false;
  malformed(name, value, "1, true, on, 0, false or off");
}

std::optional<LogLevel> read_log_level(std::string_view name, std::string_view value) {
  if (value == "off") return std::nullopt;
  std::vector<std::string> known;
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (value == log_level_name(level)) return level;
    known.emplace_back(log_level_name(level));
  }
  malformed(name, value, join(known) + " or off");
}

int read_threads(std::string_view name, std::string_view value) {
  const auto threads = parse_integer(value);
  if (!threads || *threads < 1 || *threads > kMaxThreads) {
    malformed(name, value, fmt::format("an integer from 1 to {}", kMaxThreads));
  }
  return static_cast<int>(*threads);
}

// "sm_" digits, then at most one of the suffixes of architecture- or family-specific code.
std::string read_arch(std::string_view name, std::string_view value) {
  std::string_view rest = value;
  const bool prefixed = rest.substr(0, 3) == "sm_";
  rest.remove_prefix(prefixed ? 3 : 0);
  if (!rest.empty() && (rest.back() == 'a' || rest.back() == 'f')) rest.remove_suffix(1);
  const bool digits =
      std::all_of(rest.begin(), rest.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!prefixed || !digits || rest.size() < 2 || rest.size() > 3) {
    malformed(name, value, "an architecture such as sm_80, sm_90a or sm_100f");
  }
  return std::string(value);
}

std::string or_default(std::string_view value, std::string_view default_text) {
  return std::string(value.empty() ? default_text : value);
}

// Everything about a variable: what `kw doctor` says of it, how it is read and how it is shown.
struct Variable {
  std::string_view name, meaning;
  void (*read)(Environment&, std::string_view name, std::string_view value);
  std::string (*show)(const Environment&);
};

constexpr Variable kVariables[] = {
    {"KW_CACHE_DIR", "directory of compiled kernels",
     [](Environment& e, std::string_view, std::string_view v) { e.cache_dir = v; },
     [](const Environment& e) { return or_default(e.cache_dir, "none: HOME is not set"); }},
    {"KW_CACHE_READONLY", "1: read the cache, never write to it",
     [](Environment& e, std::string_view n, std::string_view v) {
       e.cache_readonly = read_flag(n, v);
     },
     [](const Environment& e) { return std::string(e.cache_readonly ? "1" : "0"); }},
    {"KW_PACKS", "packs of prebuilt kernels, ':' between paths",
     [](Environment& e, std::string_view, std::string_view v) { e.packs = non_empty(v, ':'); },
     [](const Environment& e) { return or_default(join(e.packs, ":"), "none"); }},
    {"KW_ARCH", "architecture to compile for",
     [](Environment& e, std::string_view n, std::string_view v) { e.arch = read_arch(n, v); },
     [](const Environment& e) { return or_default(e.arch, "the device's"); }},
    {"KW_NVRTC", "libnvrtc to load",
     [](Environment& e, std::string_view, std::string_view v) { e.nvrtc = v; },
     [](const Environment& e) { return or_default(e.nvrtc, "searched"); }},
    {"KW_CXX", "compiler of the host toolchain",
     [](Environment& e, std::string_view, std::string_view v) { e.cxx = v; },
     [](const Environment& e) { return or_default(e.cxx, "searched: g++, clang++"); }},
    {"KW_JIT_FLAGS", "extra compiler flags, part of every key",
     [](Environment& e, std::string_view, std::string_view v) { e.jit_flags = non_empty(v, ' '); },
     [](const Environment& e) { return or_default(join(e.jit_flags, " "), "none"); }},
    {"KW_SOURCE_ROOT", "kernel headers from this tree instead of the embedded ones",
     [](Environment& e, std::string_view, std::string_view v) { e.source_root = v; },
     [](const Environment& e) { return or_default(e.source_root, "embedded"); }},
    {"KW_LOG", "least level that is logged",
     [](Environment& e, std::string_view n, std::string_view v) {
       e.log_level = read_log_level(n, v);
     },
     [](const Environment& e) {
       return std::string(e.log_level ? log_level_name(*e.log_level) : "off");
     }},
    {"KW_NUM_THREADS", "threads of CPU kernels",
     [](Environment& e, std::string_view n, std::string_view v) {
       e.num_threads = read_threads(n, v);
     },
     [](const Environment& e) {
       return e.num_threads ? std::to_string(*e.num_threads) : "the process's CPU affinity";
     }},
    {"KW_PLUGINS", "plugins to load, ':' between paths or names",
     [](Environment& e, std::string_view, std::string_view v) { e.plugins = non_empty(v, ':'); },
     [](const Environment& e) { return or_default(join(e.plugins, ":"), "those installed"); }},
};

// The operation of KW_OVERRIDE_<OPERATION>, in lower case; "" when the name is not of that form.
std::string override_operation(std::string_view name) {
  if (name.substr(0, kOverridePrefix.size()) != kOverridePrefix) return "";
  std::string operation(name.substr(kOverridePrefix.size()));
  for (char& c : operation) {
    const bool valid = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!valid) return "";
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return operation;
}

UnknownVariable unknown_variable(const std::string& name) {
  if (name.size() > kOverridePrefix.size() &&
      upper(name.substr(0, kOverridePrefix.size())) == kOverridePrefix) {
    return {name, upper(name)};
  }
  std::vector<std::string> known{std::string(kOverridePrefix) + "<OPERATION>"};
  for (const Variable& variable : kVariables) known.emplace_back(variable.name);
  return {name, nearest_name(name, known).value_or("")};
}

std::string default_cache_dir(const std::map<std::string, std::string>& values) {
  // The base-directory rule: a relative XDG_CACHE_HOME is ignored.
  const auto xdg = values.find("XDG_CACHE_HOME");
  if (xdg != values.end() && xdg->second.front() == '/') return xdg->second + "/kernelwright";
  const auto home = values.find("HOME");
  return home == values.end() ? "" : home->second + "/.cache/kernelwright";
}

// By name; a variable that is set to the empty string is not there.
std::map<std::string, std::string> values_of(const std::vector<std::string>& entries) {
  std::map<std::string, std::string> values;
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals + 1 == entry.size()) continue;
    values.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return values;
}

std::vector<std::string> process_entries() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

}  // namespace

Environment Environment::read(const std::vector<std::string>& entries) {
  const std::map<std::string, std::string> values = values_of(entries);
  Environment result;
  result.cache_dir = default_cache_dir(values);
  for (const auto& entry : values) {  // clang 14: lambdas cannot capture structured bindings
    const std::string& name = entry.first;
    const std::string& value = entry.second;
    if (std::string_view(name).substr(0, kPrefix.size()) != kPrefix) continue;
    const auto variable = std::find_if(std::begin(kVariables), std::end(kVariables),
                                       [&](const Variable& v) { return v.name == name; });
    if (variable != std::end(kVariables)) {
      variable->read(result, name, value);
    } else if (std::string operation = override_operation(name); !operation.empty()) {
      result.overrides.emplace(std::move(operation), value);
      result.table.push_back({name, value, true, "implementation of this operation"});
    } else {
      result.unknown.push_back(unknown_variable(name));
    }
  }
  if (result.overrides.empty()) {
    result.table.push_back({std::string(kOverridePrefix) + "<OPERATION>", "none", false,
                            "implementation of that operation, before every other source"});
  }
  for (const Variable& variable : kVariables) {
    std::string name(variable.name);
    const bool set = values.count(name) != 0;
    result.table.push_back(
        {std::move(name), variable.show(result), set, std::string(variable.meaning)});
  }
  const auto toolkit = values.find("CUDA_PATH");
  if (toolkit != values.end()) result.cuda_path = toolkit->second;
  result.table.push_back({"CUDA_PATH", or_default(result.cuda_path, "none"),
                          !result.cuda_path.empty(), "CUDA toolkit whose libnvrtc may serve"});
  const auto tool = values.find("NVTX_INJECTION64_PATH");
  if (tool != values.end()) result.nvtx_tool = tool->second;
  result.table.push_back({"NVTX_INJECTION64_PATH", or_default(result.nvtx_tool, "none"),
                          !result.nvtx_tool.empty(),
                          "profiler that is told of calls and compiles"});
  return result;
}

const Environment& environment() {
  static const Environment value = Environment::read(process_entries());
  return value;
}

bool refuses_colour(const std::vector<std::string>& entries) {
  const std::map<std::string, std::string> values = values_of(entries);
  const auto term = values.find("TERM");
  return values.count("NO_COLOR") != 0 || (term != values.end() && term->second == "dumb");
}

bool refuses_colour() { return refuses_colour(process_entries()); }

}  // namespace kw
