// SPDX-License-Identifier: Apache-2.0
// kw replay: failed cases once more, with the very inputs that were recorded.
#include <ostream>

#include <fmt/format.h>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/request.hpp"
#include "kernelwright/cli/suite_command.hpp"
#include "kernelwright/suite/recording.hpp"

namespace kw::cli {
namespace {

using suite::CaseStatus;

// "failed unwritten_output", "passed".
std::string outcome(CaseStatus status, suite::Reason reason) {
  std::string text(suite::status_name(status));
  if (status != CaseStatus::kPassed) text += ' ' + std::string(suite::reason_name(reason));
  return text;
}

ExitCode code_of(CaseStatus status) noexcept {
  switch (status) {
    case CaseStatus::kPassed:
      return ExitCode::kPassed;
    case CaseStatus::kNotApplicable:
    case CaseStatus::kSkipped:
      return ExitCode::kNothingPassed;
    default:
      return ExitCode::kCheckFailed;
  }
}

ExitCode replay(suite::RecordedCase recorded, const Flags& flags, Console& console) {
  Flags on = flags;
  if (on.device.empty()) on.device = recorded.how.device;
  const auto device = open_device(on);
  if (!flags.implementation.empty()) recorded.how.implementation = flags.implementation;
  const suite::CaseResult now = suite::replay_case(recorded, platform_on(*device));
  const bool same = now.status != CaseStatus::kPassed && now.reason == recorded.reason;
  console.out << recorded.id << ' ' << now.implementation << ' ' << now.problem
              << "\n  was: " << suite::reason_name(recorded.reason) << ": " << recorded.message
              << "\n  now: "
              << styled(outcome(now.status, now.reason),
                        code_of(now.status) == ExitCode::kPassed ? Style::kGood : Style::kBad,
                        console.out_colour)
              << (same ? " again" : "") << (now.message.empty() ? "" : ": " + now.message) << '\n';
  return code_of(now.status);
}

ExitCode run_replay(const Flags& flags, Console& console) {
  if (flags.words.size() != 1) {
    fail(Code::kInvalidArgument,
         "kw replay takes one file: a report in JSON whose failed cases were recorded, or a "
         "recording of its .tensors folder");
  }
  ExitCode worst = ExitCode::kPassed;
  for (const suite::RecordedCase& recorded :
       suite::load_recordings(flags.words.front(), flags.case_id)) {
    const ExitCode code = replay(recorded, flags, console);
    if (worst != ExitCode::kCheckFailed && code != ExitCode::kPassed) worst = code;
  }
  return worst;
}

}  // namespace

Command replay_command() {
  return {"replay", "recorded failed cases again, with the inputs that they had",
          "FILE",   {Flag::kCase, Flag::kImplementation, Flag::kDevice},
          true,     run_replay};
}

}  // namespace kw::cli
