// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/case.hpp"

#include <fmt/core.h>

#include "kernelwright/suite/random.hpp"

namespace kw::suite {

std::string case_id(const Case& spec) {
  const std::string canonical = fmt::format("{} fill={} seed={}", problem_text(spec.problem),
                                            fill_name(spec.fill), spec.seed);
  return fmt::format("{:016x}", mix64(name_hash(canonical)));
}

std::string repro_line(const Case& spec, std::string_view implementation,
                       const std::map<std::string, std::string>& pins) {
  std::string line = fmt::format("kw numerics --implementation {} --problem '{}'", implementation,
                                 problem_text(spec.problem));
  if (spec.fill != Fill::kNormal) line += fmt::format(" --fill {}", fill_name(spec.fill));
  if (spec.seed != 1) line += fmt::format(" --seed {}", spec.seed);
  for (const auto& [field, value] : pins) line += fmt::format(" --cfg {}={}", field, value);
  return line;
}

}  // namespace kw::suite
