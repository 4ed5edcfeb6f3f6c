// SPDX-License-Identifier: Apache-2.0
// kw numerics: whether implementations are right.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/interruption.hpp"
#include "kernelwright/cli/request.hpp"
#include "kernelwright/cli/self_test.hpp"
#include "kernelwright/cli/suite_command.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/suite/recording.hpp"

namespace kw::cli {
namespace {

// "1000": so many problems; "600s": for so long.
void read_fuzz(const std::string& text, suite::NumericsRequest& request) {
  const bool is_time = text.ends_with('s');
  const auto number = parse_number(is_time ? text.substr(0, text.size() - 1) : text);
  const auto count = parse_integer(text);
  const bool legal = is_time ? number && *number > 0 && *number <= 1e6
                             : count && *count > 0 && *count <= 100'000'000;
  if (!legal) {
    fail(Code::kInvalidArgument,
         "--fuzz '{}': write a number of problems, as in 1000, or of seconds, as in 600s", text);
  }
  if (is_time) {
    request.fuzz_seconds = *number;
  } else {
    request.fuzz = static_cast<int>(*count);
  }
}

// Of the output that comes closest to its limit, the whole tensor or its worst row.
void add_figures(const suite::CaseResult& result, std::vector<Cell>& row) {
  double nrmse = 0, share = 0, ulps = 0;
  for (const suite::OutputMetrics& output : result.outputs) {
    const double tensor = output.tensor_limit > 0 ? output.tensor_nrmse / output.tensor_limit : 0;
    nrmse = std::max(nrmse, output.tensor_nrmse);
    share = std::max({share, tensor, output.worst_row_ratio});
    ulps = std::max(ulps, output.max_ulps);
  }
  const bool judged = !result.outputs.empty();
  row.emplace_back(judged ? fmt::format("{:.2e}", nrmse) : "-");
  row.emplace_back(judged ? fmt::format("{:.0f} %", 100 * share) : "-");
  row.emplace_back(judged ? fmt::format("{:.3g}", ulps) : "-");
  row.emplace_back(result.trust > 0 ? fmt::format("{:.0e}", result.trust) : "-");
}

void print_cases(const suite::NumericsReport& report, const Console& console) {
  if (report.cases.empty()) return;
  Table table({"status", "implementation", "fill", ">nrmse", ">of limit", ">max ulp", ">trust",
               ">ms", "problem", ""});
  for (const suite::CaseResult& result : report.cases) {
    std::vector<Cell> row{status_cell(result.status), result.implementation,
                          suite::fill_name(result.fill)};
    add_figures(result, row);
    row.emplace_back(fmt::format("{:.1f}", 1e3 * result.seconds));
    row.emplace_back(result.problem);
    const bool explains = result.status == suite::CaseStatus::kNotApplicable ||
                          result.status == suite::CaseStatus::kSkipped;
    if (explains) row.emplace_back(result.message, Style::kFaint);
    table.add(std::move(row));
  }
  console.out << table.text(console.out_colour, 0) << '\n';
}

ExitCode run_numerics_command(const Flags& flags, Console& console) {
  if (flags.self_test) return run_self_test_command(flags, console);
  suite::NumericsRequest request;
  fill_request(request, flags, builtin_catalog());
  if (!flags.fill.empty()) request.fills = {flags.fill};
  if (flags.repeats) request.repeats = *flags.repeats;
  request.class_checks = !flags.quick;
  if (!flags.fuzz.empty()) {
    if (!flags.batch.empty() || !flags.problems.empty()) {
      fail(Code::kInvalidArgument, "--fuzz excludes --batch and --problem; give one of the three");
    }
    read_fuzz(flags.fuzz, request);
  }
  auto pages = request.class_checks && flags.guard_pages ? open_pages(flags)
                                                         : nullptr;  // before the driver starts
  const auto device = open_device(flags);
  const auto second = request.class_checks ? open_second_device(*device) : nullptr;
  suite::Platform platform = platform_on(*device);
  platform.second_device = second.get();
  platform.pages = std::move(pages);
  require_pins(request, platform);
  suite::NumericsReport report;
  {
    Progress progress(console, flags.quiet);
    const Interruption interruption;
    request.interrupted = [&] { return interruption.requested(); };
    request.progress = [&](const suite::CaseResult& result) { progress.step(result); };
    report = suite::run_numerics(request, platform);
  }
  store_evidence(report, request, platform);
  if (!flags.output.empty()) {
    if (flags.output.ends_with(".json"))
      suite::record_failures(report, request, platform, flags.output);
    suite::write_report(report, flags.output);
  }
  if (flags.json) {
    console.out << suite::to_json(report);
    return report_exit_code(report.exit_code());
  }
  if (!flags.quiet) print_cases(report, console);
  std::vector<const suite::CaseResult*> cases;
  for (const suite::CaseResult& result : report.cases) cases.push_back(&result);
  print_end(cases, report.counts(), report.header, console);
  print_coverage(report.coverage, console);
  return report_exit_code(report.exit_code());
}

}  // namespace

Command numerics_command() {
  return {
      "numerics",
      "whether implementations are right: oracles, contract checks, fuzz",
      "",
      {Flag::kOperation, Flag::kVariant, Flag::kImplementation, Flag::kProblem, Flag::kBatch,
       Flag::kFuzz,      Flag::kFill,    Flag::kDtype,          Flag::kSeed,    Flag::kDevice,
       Flag::kMode,      Flag::kCfg,     Flag::kRepeats,        Flag::kQuick,   Flag::kGuardPages,
       Flag::kSelfTest,  Flag::kShard,   Flag::kRevision,       Flag::kOutput,  Flag::kJson,
       Flag::kQuiet},
      true,
      run_numerics_command};
}

}  // namespace kw::cli
