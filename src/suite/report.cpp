// SPDX-License-Identifier: Apache-2.0
// Counting, exit codes, and the header of a run.
#include "kernelwright/suite/report.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace kw::suite {
HeaderDraft::HeaderDraft(std::string kind, const Request& request, const runtime::Device& device)
    : start_(std::chrono::steady_clock::now()) {
  header_.kind = std::move(kind);
  header_.started = utc_now();
  header_.argv = request.argv;
  header_.revision = request.revision;
  header_.environment = describe_environment(device);
}

ReportHeader HeaderDraft::finish(std::string request) {
  header_.request = std::move(request);
  header_.ended = utc_now();
  header_.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return std::move(header_);
}

const std::string& request_subject(const Request& request) noexcept {
  return request.operation.empty() ? request.implementation : request.operation;
}

std::string describe_request(const Request& request) {
  return fmt::format("{} of {}", request.problems.empty() ? "batch " + request.batch : "problems",
                     request_subject(request));
}

int Counts::exit_code() const noexcept {
  if (failed + error > 0) return 1;
  return passed > 0 ? 0 : 3;
}

Counts count(const std::vector<CaseResult>& cases) {
  Counts counts;
  for (const CaseResult& result : cases) {
    switch (result.status) {
      case CaseStatus::kPassed:
        ++counts.passed;
        continue;
      case CaseStatus::kFailed:
        ++counts.failed;
        break;
      case CaseStatus::kError:
        ++counts.error;
        break;
      case CaseStatus::kMistrusted:
        ++counts.mistrusted;
        break;
      case CaseStatus::kNotApplicable:
        ++counts.not_applicable;
        break;
      case CaseStatus::kSkipped:
        ++counts.skipped;
        break;
    }
    const std::string reason(reason_name(result.reason));
    const auto it = std::find_if(counts.by_reason.begin(), counts.by_reason.end(),
                                 [&](const auto& row) { return row.first == reason; });
    if (it == counts.by_reason.end())
      counts.by_reason.emplace_back(reason, 1);
    else
      ++it->second;
  }
  return counts;
}

int NumericsReport::exit_code() const {
  if (!header.complete) return kInterruptedExit;
  const int code = counts().exit_code();
  const bool lacking = std::any_of(coverage.begin(), coverage.end(),
                                   [](const Coverage& target) { return target.exceeds_limit(); });
  return code == 0 && lacking ? 3 : code;
}

Counts BenchReport::counts() const {
  std::vector<CaseResult> cases;
  for (const BenchRow& row : rows) cases.push_back(row.numerics);
  return count(cases);
}

int BenchReport::exit_code() const {
  return header.complete ? counts().exit_code() : kInterruptedExit;
}

bool Timing::has(std::string_view flag) const noexcept {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

double Roof::fastest() const noexcept {
  return std::max({gigabytes_per_second, read_gigabytes_per_second, write_gigabytes_per_second});
}

}  // namespace kw::suite
