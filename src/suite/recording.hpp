// SPDX-License-Identifier: Apache-2.0
// A failed case with the bytes of its inputs, in a file of its own beside the report: it runs again
// also where fills have another meaning by then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernelwright/suite/run.hpp"

namespace kw::suite {

inline constexpr std::int64_t kRecordedBytes = std::int64_t{64} << 20;  // of one report, in all

struct RecordedCase {
  std::string id, problem, fill;
  std::uint64_t seed = 1;
  Circumstances how;
  Reason reason = Reason::kNone;
  std::string message;
  std::vector<RecordedTensor> tensors;  // of every read operand
};

// The file: a line "kw.tensors/1 SHA-256 of the rest", one line of JSON, then the bytes.
std::string recording_text(const RecordedCase& recorded);
// Throws Error(kInvalidArgument) for what is no recording or was changed since; `source` is named.
RecordedCase parse_recording(const std::string& text, const std::string& source);

// Makes the inputs of every failed case again and writes them to files in "<report>.tensors", as
// long as there is room below `limit`; says in each case which file it was, or why there is none.
void record_failures(NumericsReport& report, const NumericsRequest& request,
                     const Platform& platform, const std::string& report_path,
                     std::int64_t limit = kRecordedBytes);

// The recorded cases of `path`, a recording or a report in JSON; of a report only `id`, if that is
// not empty. Throws Error(kNotFound) with what is there, Error(kInvalidArgument) for damage.
std::vector<RecordedCase> load_recordings(const std::string& path, const std::string& id);

// The case again, with the recorded inputs, as it was run then.
CaseResult replay_case(const RecordedCase& recorded, const Platform& platform);

}  // namespace kw::suite
