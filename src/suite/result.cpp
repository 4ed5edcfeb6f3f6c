// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/result.hpp"

#include <array>

namespace kw::suite {

std::string_view status_name(CaseStatus status) noexcept {
  constexpr std::array<std::string_view, kNumStatuses> kNames{
      "passed", "failed", "error", "mistrusted", "not_applicable", "skipped"};
  return kNames[static_cast<std::size_t>(status)];
}

std::string_view reason_name(Reason reason) noexcept {
  constexpr std::array<std::string_view, kNumReasons> kNames{"none",
                                                             "numeric_mismatch",
                                                             "nonfinite_mismatch",
                                                             "bias",
                                                             "output_structure",
                                                             "undeclared_mutation",
                                                             "missing_mutation",
                                                             "undeclared_alias",
                                                             "unwritten_output",
                                                             "reads_uninitialised",
                                                             "oob_write",
                                                             "oob_read",
                                                             "accepted_invalid",
                                                             "rejected_valid",
                                                             "damaged_on_error",
                                                             "nondeterministic",
                                                             "batch_variant",
                                                             "placement_variant",
                                                             "wrong_stream",
                                                             "escaped_work",
                                                             "syncs_host",
                                                             "capture_failed",
                                                             "capture_dropped_work",
                                                             "stale_replay",
                                                             "graph_call_dropped",
                                                             "lifetime",
                                                             "memory_growth",
                                                             "wrong_device",
                                                             "thread_unsafe",
                                                             "lazy_init",
                                                             "producer_race",
                                                             "gradient",
                                                             "metamorphic",
                                                             "impure_decision",
                                                             "mistrusted_oracle",
                                                             "compile_error",
                                                             "load_error",
                                                             "device_error",
                                                             "crash",
                                                             "timeout",
                                                             "oom_skipped",
                                                             "hardware_unmet",
                                                             "dependency_missing",
                                                             "domain_excluded",
                                                             "not_implemented",
                                                             "implausible_speed",
                                                             "below_floor",
                                                             "regression",
                                                             "incomparable"};
  return kNames[static_cast<std::size_t>(reason)];
}

}  // namespace kw::suite
