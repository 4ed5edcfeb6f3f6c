// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/cli/request.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/core/environment.hpp"
#include "kernelwright/ops/process.hpp"

namespace kw::cli {
namespace {

// What the sources said so far; the first that names an operation is quoted when another disagrees.
class SubjectReader {
 public:
  explicit SubjectReader(const Catalog& catalog) : catalog_(catalog) {}

  void operation(std::string_view name, std::string_view source) {
    catalog_.operation(name);  // throws, with the nearest name
    agree(subject_.operation, operation_source_, "operation", name, source);
  }

  void variant(std::string_view name, std::string_view source) {
    agree(subject_.variant, variant_source_, "variant", name, source);
  }

  void problem(std::string_view text) {
    for (const std::string& single : expand_problem_text(text)) {
      subject_.problems.push_back(parse_problem(single, catalog_));
    }
  }

  Subject take() {
    if (!subject_.variant.empty() && !subject_.operation.empty()) {
      catalog_.operation(subject_.operation).contract->variant_index(subject_.variant);
    }
    for (const Problem& problem : subject_.problems) check_against(problem);
    if (!subject_.problems.empty()) adopt_from_problems();
    if (!subject_.variant.empty() && subject_.operation.empty() && subject_.problems.empty()) {
      fail(Code::kInvalidArgument,
           "variant '{}' ({}) of which operation? Name it with --operation; known: {}",
           subject_.variant, variant_source_, join(catalog_.operation_names()));
    }
    return std::move(subject_);
  }

 private:
  static void agree(std::string& value, std::string& value_source, std::string_view what,
                    std::string_view name, std::string_view source) {
    if (!value.empty() && value != name) {
      fail(Code::kInvalidArgument, "{} '{}' ({}) contradicts {} '{}' ({}); name one", what, name,
           source, what, value, value_source);
    }
    value = name;
    value_source = source;
  }

  void check_against(const Problem& problem) const {
    const auto differs = [](const std::string& wanted, const std::string& got) {
      return !wanted.empty() && wanted != got;
    };
    if (differs(subject_.operation, problem.operation())) {
      fail(Code::kInvalidArgument, "the problem '{}' is not of operation '{}' ({}); name one",
           problem_text(problem), subject_.operation, operation_source_);
    }
    if (differs(subject_.variant, problem.variant_name())) {
      fail(Code::kInvalidArgument, "the problem '{}' is not of variant '{}' ({}); name one",
           problem_text(problem), subject_.variant, variant_source_);
    }
  }

  void adopt_from_problems() {
    const std::vector<Problem>& problems = subject_.problems;
    const auto same = [&](const auto& name_of) {
      return std::all_of(problems.begin(), problems.end(), [&](const Problem& problem) {
        return name_of(problem) == name_of(problems.front());
      });
    };
    const auto operation_of = [](const Problem& problem) { return problem.operation(); };
    const auto label_of = [](const Problem& problem) { return problem.label(); };
    if (same(operation_of)) subject_.operation = problems.front().operation();
    if (same(label_of)) subject_.variant = problems.front().variant_name();
  }

  const Catalog& catalog_;
  Subject subject_;
  std::string operation_source_, variant_source_;
};

}  // namespace

Subject subject_of(const Flags& flags, const Catalog& catalog) {
  SubjectReader reader(catalog);
  if (!flags.operation.empty()) reader.operation(flags.operation, "--operation");
  const auto [owner, implementation] = catalog.find_implementation(flags.implementation);
  if (implementation != nullptr) reader.operation(owner->contract->operation, "--implementation");
  // A problem may come as one word or, unquoted, as several.
  const std::string words = join(flags.words, " ");
  if (words.find(' ') != std::string::npos) {
    reader.problem(words);
  } else if (!words.empty()) {
    const std::size_t slash = words.find('/');
    reader.operation(words.substr(0, slash), "argument");
    if (slash != std::string::npos) reader.variant(words.substr(slash + 1), "argument");
  }
  if (!flags.variant.empty()) reader.variant(flags.variant, "--variant");
  for (const std::string& text : flags.problems) reader.problem(text);
  return reader.take();
}

std::vector<std::string> operations_of(const Subject& subject) {
  if (subject.problems.empty()) return {subject.operation};
  std::vector<std::string> names;
  for (const Problem& problem : subject.problems) {
    if (std::find(names.begin(), names.end(), problem.operation()) == names.end()) {
      names.push_back(problem.operation());
    }
  }
  return names;
}

Settings settings_of(const Flags& flags, const Catalog& catalog,
                     const std::vector<std::string>& operations) {
  Settings settings;
  if (!flags.mode.empty()) settings.mode = parse_mode(flags.mode);
  if (!flags.config.empty()) settings.load_file(catalog, flags.config);
  if (!flags.implementation.empty()) {
    for (const std::string& operation : operations) {
      settings.set(catalog, operation, parse_targets(flags.implementation), Source::kExplicit,
                   "--implementation");
    }
  }
  settings.apply_environment(catalog, environment().overrides);
  return settings;
}

runtime::DeviceName device_name_of(const Flags& flags) {
  return runtime::parse_device_name(flags.device.empty() ? "cpu" : flags.device);
}

std::unique_ptr<runtime::Device> open_device(const Flags& flags) {
  return kw::open_device(device_name_of(flags));
}

void require_implementation(const Flags& flags, const Catalog& catalog,
                            const std::string& operation, DeviceKind kind) {
  Settings settings;
  settings.set(catalog, operation, {flags.implementation}, Source::kExplicit, "--implementation");
  settings.on_device(catalog, kind);
}

CfgPins cfg_pins_of(const Flags& flags) {
  CfgPins pins;
  for (const std::string& text : flags.cfg) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
      fail(Code::kInvalidArgument, "--cfg '{}': write field=value", text);
    }
    const auto [pin, is_new] = pins.emplace(text.substr(0, equals), text.substr(equals + 1));
    if (!is_new) {
      fail(Code::kInvalidArgument, "--cfg '{}': '{}' is pinned to '{}' already", text, pin->first,
           pin->second);
    }
  }
  return pins;
}

std::pair<int, int> shard_of(const Flags& flags) {
  if (flags.shard.empty()) return {0, 1};
  constexpr long long kMaxShards = 1'000'000;
  const std::size_t slash = flags.shard.find('/');
  const auto index = parse_integer(flags.shard.substr(0, slash));
  const auto count =
      slash == std::string::npos ? std::nullopt : parse_integer(flags.shard.substr(slash + 1));
  if (!index || !count || *index < 1 || *index > *count || *count > kMaxShards) {
    fail(Code::kInvalidArgument, "--shard '{}': write I/N with I from 1 to N, as in 2/8",
         flags.shard);
  }
  return {static_cast<int>(*index - 1), static_cast<int>(*count)};
}

}  // namespace kw::cli
