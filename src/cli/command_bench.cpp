// SPDX-License-Identifier: Apache-2.0
// kw bench: how fast implementations are that passed numerics in the same run.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "kernelwright/base/text.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/request.hpp"
#include "kernelwright/cli/suite_command.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/suite/run.hpp"

namespace kw::cli {
namespace {

std::string duration_text(double ns) {
  if (ns >= 1e6) return fmt::format("{:.3f} ms", ns * 1e-6);
  if (ns >= 1e3) return fmt::format("{:.2f} us", ns * 1e-3);
  return fmt::format("{:.1f} ns", ns);
}

// `kind` ends the protocol's name: "cold" is "wall_cold" or "device_cold".
std::string median_of(const suite::BenchRow& row, std::string_view kind, bool with_interval) {
  const auto timing =
      std::find_if(row.timings.begin(), row.timings.end(),
                   [&](const suite::Timing& t) { return t.protocol.ends_with(kind); });
  if (timing == row.timings.end()) return "-";
  const suite::Statistics& figures = timing->nanoseconds;
  std::string median = duration_text(figures.median);
  if (!with_interval) return median;
  return fmt::format("{} +-{:.1f} %", median, 100 * figures.ci_half_width());
}

void print_rows(const suite::BenchReport& report, const Console& console) {
  const suite::Roof& roof = report.roof;
  console.out << fmt::format(
      "copy roof {:.2f} GB/s read plus written: {}, {} threads, {:.0f} MB\n\n",
      roof.gigabytes_per_second, roof.method, roof.threads, roof.bytes * 1e-6);
  if (report.rows.empty()) return;
  Table table({"status", "implementation", ">cold", ">hot", ">call", ">enqueue", ">GB/s",
               ">of roof", "problem", "flags"});
  for (const suite::BenchRow& row : report.rows) {
    const suite::CaseResult& result = row.numerics;
    const bool timed = row.gigabytes_per_second > 0;
    table.add({status_cell(result.status), result.implementation, median_of(row, "cold", true),
               median_of(row, "hot", false), median_of(row, "call", false),
               median_of(row, "enqueue", false),
               timed ? fmt::format("{:.2f}", row.gigabytes_per_second) : "-",
               timed ? fmt::format("{:.0f} %", 100 * row.roof_share) : "-", result.problem,
               Cell(join(row.flags), Style::kWarning)});
  }
  console.out << table.text(console.out_colour, 0) << '\n';
}

ExitCode run_bench_command(const Flags& flags, Console& console) {
  suite::BenchRequest request;
  fill_request(request, flags, builtin_catalog());
  if (!flags.fill.empty()) request.fill = flags.fill;
  for (const std::string& name : flags.protocols)
    request.protocols.push_back(suite::parse_protocol(name));
  if (flags.warmup) request.warmup = *flags.warmup;
  if (flags.iterations) request.iterations = *flags.iterations;
  const auto device = open_device(flags);
  const suite::Platform platform = platform_on(*device);
  require_pins(request, platform);
  suite::BenchReport report;
  {
    Progress progress(console, flags.quiet);
    request.progress = [&](const suite::BenchRow& row) { progress.step(row.numerics); };
    report = suite::run_bench(request, platform);
  }
  if (!flags.output.empty()) suite::write_report(report, flags.output);
  if (flags.json) {
    console.out << suite::to_json(report);
    return report_exit_code(report.exit_code());
  }
  if (!flags.quiet) print_rows(report, console);
  std::vector<const suite::CaseResult*> cases;
  for (const suite::BenchRow& row : report.rows) cases.push_back(&row.numerics);
  print_end(cases, report.counts(), report.header.seconds, console);
  return report_exit_code(report.exit_code());
}

}  // namespace

Command bench_command() {
  return {"bench",
          "how fast implementations are, beside the measured copy roof",
          "",
          {Flag::kOperation, Flag::kVariant, Flag::kImplementation, Flag::kProblem, Flag::kBatch,
           Flag::kFill, Flag::kDtype, Flag::kSeed, Flag::kDevice, Flag::kMode, Flag::kCfg,
           Flag::kProtocol, Flag::kWarmup, Flag::kIterations, Flag::kShard, Flag::kRevision,
           Flag::kOutput, Flag::kJson, Flag::kQuiet},
          true,
          run_bench_command};
}

}  // namespace kw::cli
