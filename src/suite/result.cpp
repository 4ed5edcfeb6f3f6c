// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/result.hpp"

#include <array>

namespace kw::suite {

std::string_view status_name(CaseStatus status) noexcept {
  constexpr std::array<std::string_view, 6> kNames{"passed",     "failed",         "error",
                                                   "mistrusted", "not_applicable", "skipped"};
  return kNames[static_cast<std::size_t>(status)];
}

std::string_view reason_name(Reason reason) noexcept {
  constexpr std::array<std::string_view, 23> kNames{"none",
                                                    "numeric_mismatch",
                                                    "nonfinite_mismatch",
                                                    "bias",
                                                    "output_structure",
                                                    "undeclared_mutation",
                                                    "unwritten_output",
                                                    "reads_uninitialised",
                                                    "oob_write",
                                                    "rejected_valid",
                                                    "nondeterministic",
                                                    "batch_variant",
                                                    "stale_replay",
                                                    "gradient",
                                                    "mistrusted_oracle",
                                                    "compile_error",
                                                    "device_error",
                                                    "oom_skipped",
                                                    "hardware_unmet",
                                                    "dependency_missing",
                                                    "domain_excluded",
                                                    "not_implemented",
                                                    "implausible_speed"};
  return kNames[static_cast<std::size_t>(reason)];
}

}  // namespace kw::suite
