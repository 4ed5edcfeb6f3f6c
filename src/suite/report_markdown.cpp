// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "kernelwright/suite/report.hpp"

namespace kw::suite {
namespace {

// Table cells: a bar would end the cell.
std::string cell(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|')
      safe += "\\|";
    else
      safe += c == '\n' ? ' ' : c;
  }
  return safe;
}

std::string head(const ReportHeader& header, const Counts& counts, int exit_code) {
  std::string text = fmt::format("# kw {}: {}\n\n", header.kind, header.request);
  text += fmt::format(
      "{} cases: {} passed, {} failed, {} errors, {} mistrusted, {} not applicable, {} skipped; "
      "exit code {}. {:.1f} s, {}{}.\n\n",
      counts.total(), counts.passed, counts.failed, counts.error, counts.mistrusted,
      counts.not_applicable, counts.skipped, exit_code, header.seconds, header.started,
      header.revision.empty() ? "" : ", revision " + header.revision);
  text += "| environment | |\n|---|---|\n";
  for (const Facts* facts : {&header.environment, &header.metadata}) {
    for (const auto& [name, value] : *facts)
      text += fmt::format("| {} | {} |\n", cell(name), cell(value));
  }
  return text + "\n";
}

std::string reasons(const Counts& counts) {
  if (counts.by_reason.empty()) return {};
  std::string text = "| reason | cases |\n|---|---|\n";
  for (const auto& [reason, amount] : counts.by_reason)
    text += fmt::format("| {} | {} |\n", reason, amount);
  return text + "\n";
}

std::string failures(const std::vector<const CaseResult*>& cases) {
  std::string text;
  for (const CaseResult* result : cases) {
    if (result->status != CaseStatus::kFailed && result->status != CaseStatus::kError &&
        result->status != CaseStatus::kMistrusted)
      continue;
    text += fmt::format("- **{}** `{}` {}\n  `{}`\n", status_name(result->status),
                        reason_name(result->reason), result->message, result->repro);
  }
  return text.empty() ? text : "## Not passed\n\n" + text + "\n";
}

// Worst figures over the passed cases of one implementation, variant and output.
struct Worst {
  int cases = 0;
  double nrmse = 0, share_of_limit = 0, max_ulps = 0, exact_share = 1, trust = 0;
};

std::string time_text(double ns) {
  if (ns >= 1e6) return fmt::format("{:.3f} ms", ns * 1e-6);
  if (ns >= 1e3) return fmt::format("{:.2f} us", ns * 1e-3);
  return fmt::format("{:.0f} ns", ns);
}

// `kind` ends the protocol's name: "cold" is "wall_cold" or "device_cold".
const Timing* find_timing(const BenchRow& row, std::string_view kind) {
  const auto it = std::find_if(row.timings.begin(), row.timings.end(), [&](const Timing& timing) {
    return timing.protocol.ends_with(kind);
  });
  return it == row.timings.end() ? nullptr : &*it;
}

std::string timing_cell(const Timing* timing) {
  if (timing == nullptr) return "-";
  const Statistics& s = timing->nanoseconds;
  return fmt::format("{} +-{:.1f} %", time_text(s.median), 100 * s.ci_half_width());
}

}  // namespace

std::string to_markdown(const NumericsReport& report) {
  const Counts counts = report.counts();
  std::string text = head(report.header, counts, report.exit_code());
  std::vector<const CaseResult*> cases;
  std::map<std::string, Worst> worst;
  for (const CaseResult& result : report.cases) {
    cases.push_back(&result);
    if (result.status != CaseStatus::kPassed) continue;
    for (const OutputMetrics& m : result.outputs) {
      Worst& w =
          worst[fmt::format("| {} | {} | {} ", result.implementation, result.variant, m.output)];
      ++w.cases;
      if (m.tensor_limit > 0 && m.tensor_nrmse / m.tensor_limit > w.share_of_limit) {
        w.share_of_limit = m.tensor_nrmse / m.tensor_limit;
        w.nrmse = m.tensor_nrmse;
      }
      w.max_ulps = std::max(w.max_ulps, m.max_ulps);
      w.exact_share = std::min(w.exact_share, m.exact_share);
      if (m.trust > 0) w.trust = w.trust == 0 ? m.trust : std::min(w.trust, m.trust);
    }
  }
  if (!worst.empty()) {
    text += "Worst passed case per output; error and limit are those of the whole tensor.\n\n";
    text +=
        "| implementation | variant | output | cases | error | of limit | max ulp | correctly "
        "rounded | trust |\n|---|---|---|---|---|---|---|---|---|\n";
    for (const auto& [key, w] : worst) {
      text += fmt::format("{}| {} | {:.3g} | {:.0f} % | {:.3g} | {:.4f} | {:.3g} |\n", key, w.cases,
                          w.nrmse, 100 * w.share_of_limit, w.max_ulps, w.exact_share, w.trust);
    }
    text += "\n";
  }
  return text + reasons(counts) + failures(cases);
}

std::string to_markdown(const BenchReport& report) {
  const Counts counts = report.counts();
  std::string text = head(report.header, counts, report.exit_code());
  text += fmt::format(
      "Copy roof, measured first in this run: {:.2f} GB/s read plus written ({}, {} threads, "
      "{:.0f} MB buffers). Cold: buffers rotate through 3x the last-level cache. Bytes are the "
      "contract's minimum.\n\n",
      report.roof.gigabytes_per_second, report.roof.method, report.roof.threads,
      report.roof.bytes * 1e-6);
  text +=
      "| implementation | problem | cold | hot | call | GB/s | of roof | flags "
      "|\n|---|---|---|---|---|---|---|---|\n";
  std::vector<const CaseResult*> cases;
  for (const BenchRow& row : report.rows) {
    cases.push_back(&row.numerics);
    if (row.timings.empty()) continue;
    std::string flags;
    for (const std::string& flag : row.flags) flags += (flags.empty() ? "" : ", ") + flag;
    text += fmt::format("| {} | {} | {} | {} | {} | {:.2f} | {:.0f} % | {} |\n",
                        row.numerics.implementation, cell(row.numerics.problem),
                        timing_cell(find_timing(row, "cold")), timing_cell(find_timing(row, "hot")),
                        timing_cell(find_timing(row, "call")), row.gigabytes_per_second,
                        100 * row.roof_share, flags);
  }
  return text + "\n" + reasons(counts) + failures(cases);
}

}  // namespace kw::suite
