// SPDX-License-Identifier: Apache-2.0
// What a case can end as: closed lists of statuses and reason codes, stable in reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kw::suite {

enum class CaseStatus : std::uint8_t {
  kPassed,
  kFailed,         // the implementation is wrong
  kError,          // the harness, the device or the environment failed
  kMistrusted,     // nothing wrong was found, but a wrong output would have passed as well
  kNotApplicable,  // the implementation declares that this is not its domain
  kSkipped,        // filtered out, or too large for this machine
};
inline constexpr std::size_t kNumStatuses = static_cast<std::size_t>(CaseStatus::kSkipped) + 1;

// The closed list: a report never holds another code, and a code never changes its meaning.
enum class Reason : std::uint8_t {
  kNone,
  kNumericMismatch,
  kNonfiniteMismatch,
  kBias,
  kOutputStructure,
  kUndeclaredMutation,
  kMissingMutation,
  kUndeclaredAlias,
  kUnwrittenOutput,
  kReadsUninitialised,
  kOobWrite,
  kOobRead,
  kAcceptedInvalid,
  kRejectedValid,
  kDamagedOnError,
  kNondeterministic,
  kBatchVariant,
  kPlacementVariant,
  kWrongStream,
  kEscapedWork,
  kSyncsHost,
  kCaptureFailed,
  kCaptureDroppedWork,
  kStaleReplay,
  kGraphCallDropped,
  kLifetime,
  kMemoryGrowth,
  kWrongDevice,
  kThreadUnsafe,
  kLazyInit,
  kProducerRace,
  kGradient,
  kMetamorphic,
  kImpureDecision,
  kMistrustedOracle,
  kCompileError,
  kLoadError,
  kDeviceError,
  kCrash,
  kTimeout,
  kOomSkipped,
  kHardwareUnmet,
  kDependencyMissing,
  kDomainExcluded,
  kNotImplemented,
  kImplausibleSpeed,
  kBelowFloor,
  kRegression,
  kIncomparable,
};
inline constexpr std::size_t kNumReasons = static_cast<std::size_t>(Reason::kIncomparable) + 1;

std::string_view status_name(CaseStatus status) noexcept;
std::string_view reason_name(Reason reason) noexcept;

// One contract check of a case. `data`: names and figures for reports.
struct CheckResult {
  std::string name;  // "oracle:y", "canary", "repeat", ...
  bool passed = true;
  Reason reason = Reason::kNone;
  std::string message;  // what was found and what was allowed, or what a pass leaves open
  std::vector<std::pair<std::string, double>> data;
};

}  // namespace kw::suite
