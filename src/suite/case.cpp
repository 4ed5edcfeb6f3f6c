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

std::string device_flag(const Hardware& hardware) {
  const std::string kind(device_kind_name(hardware.kind));
  return hardware.index == 0 ? kind : fmt::format("{}:{}", kind, hardware.index);
}

std::string repro_line(const Case& spec, const Circumstances& how) {
  std::string line = fmt::format("kw numerics --implementation {}", how.implementation);
  if (how.device != "cpu") line += fmt::format(" --device {}", how.device);
  if (how.mode != Mode::kEager) line += fmt::format(" --mode {}", mode_name(how.mode));
  line += fmt::format(" --problem '{}'", problem_text(spec.problem));
  if (spec.fill != Fill::kNormal) line += fmt::format(" --fill {}", fill_name(spec.fill));
  if (spec.seed != 1) line += fmt::format(" --seed {}", spec.seed);
  if (how.repeats > kDefaultRepeats) line += fmt::format(" --repeats {}", how.repeats);
  for (const auto& [field, value] : how.pins) line += fmt::format(" --cfg {}={}", field, value);
  return line;
}

std::string canonical_line(const Case& spec, const Circumstances& how) {
  std::string line = fmt::format(
      "kw numerics --implementation {} --device {} --mode {} --problem '{}' --fill {} --seed {} "
      "--repeats {}",
      how.implementation, how.device, mode_name(how.mode), problem_text(spec.problem),
      fill_name(spec.fill), spec.seed, how.repeats);
  for (const auto& [field, value] : how.pins) line += fmt::format(" --cfg {}={}", field, value);
  return line;
}

}  // namespace kw::suite
