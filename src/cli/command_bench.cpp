// SPDX-License-Identifier: Apache-2.0
// kw bench: how fast implementations are that passed numerics in the same run.
#include <algorithm>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "kernelwright/base/text.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/interruption.hpp"
#include "kernelwright/cli/request.hpp"
#include "kernelwright/cli/suite_command.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/suite/roofline.hpp"
#include "kernelwright/suite/run.hpp"
#include "kernelwright/suite/statistics.hpp"

namespace kw::cli {
namespace {

std::string median_text(const suite::Timing* timing, bool with_interval) {
  if (timing == nullptr) return "-";
  const suite::Statistics& figures = timing->nanoseconds;
  std::string median = suite::duration_text(figures.median);
  if (!with_interval) return median;
  return fmt::format("{} +-{:.1f} %", median, 100 * figures.ci_half_width());
}

void print_roofs(const suite::BenchReport& report, const Console& console) {
  const suite::Roof& roof = report.roof;
  console.out << fmt::format(
      "copy roof {:.2f} GB/s read plus written: {}, {} threads, {:.0f} MB; read {:.2f}, write "
      "{:.2f} GB/s\n",
      roof.gigabytes_per_second, roof.method, roof.threads, roof.bytes * 1e-6,
      roof.read_gigabytes_per_second, roof.write_gigabytes_per_second);
  std::vector<std::string> floors;
  for (const auto& [protocol, ns] : report.floors)
    floors.push_back(protocol + ' ' + suite::duration_text(ns));
  console.out << "floors: " << join(floors) << "\n\n";
}

// Columns beside cold and hot, where a row has them.
constexpr std::pair<const char*, const char*> kMoreFigures[] = {{">evicted", "device_cold"},
                                                                {">call", "call"},
                                                                {">enqueue", "host_enqueue"},
                                                                {">wall", "wall_sync"}};

bool has_figure(const suite::BenchReport& report, const char* protocol) {
  return std::any_of(report.rows.begin(), report.rows.end(), [&](const suite::BenchRow& row) {
    return suite::find_timing(row, protocol) != nullptr;
  });
}

void add_roofline(const suite::BenchRow& row, std::vector<Cell>& cells) {
  if (row.gigabytes_per_second <= 0) {
    cells.resize(cells.size() + 7, Cell("-"));
    return;
  }
  cells.emplace_back(fmt::format("{:.2f}", row.gigabytes_per_second));
  cells.emplace_back(fmt::format("{:.0f} %", 100 * row.roof_share));
  cells.emplace_back(fmt::format("{:.3f}", row.teraflops_per_second));
  cells.emplace_back(fmt::format("{:.2f}", row.intensity));
  cells.emplace_back(row.limiter);
  cells.emplace_back(fmt::format("{:.2f}", row.roof_us));
  cells.emplace_back(fmt::format("{:.0f} %", 100 * row.speed_of_light));
}

void print_rows(const suite::BenchReport& report, const Console& console) {
  print_roofs(report, console);
  if (report.rows.empty()) return;
  const bool graphs = suite::find_timing(report.rows.front(), "graph_hot") != nullptr;
  std::vector<std::string> titles{"status", "implementation", ">cold", ">hot"};
  std::vector<const char*> protocols;
  for (const auto& [title, protocol] : kMoreFigures) {
    if (!has_figure(report, protocol)) continue;
    titles.emplace_back(title);
    protocols.push_back(protocol);
  }
  for (const char* title : {">GB/s", ">of roof", ">TFLOP/s", ">flop/B", "limiter", ">roof us",
                            ">of light", "problem", "flags"})
    titles.emplace_back(title);
  Table table(titles);
  for (const suite::BenchRow& row : report.rows) {
    const auto median = [&](const char* protocol) {
      return median_text(suite::find_timing(row, protocol), false);
    };
    std::vector<Cell> cells{status_cell(row.numerics.status), row.numerics.implementation,
                            median_text(suite::cold_timing(row), true),
                            median(graphs ? "graph_hot" : "wall_hot")};
    for (const char* protocol : protocols) cells.emplace_back(median(protocol));
    add_roofline(row, cells);
    cells.emplace_back(row.numerics.problem);
    cells.emplace_back(join(row.flags), Style::kWarning);
    table.add(std::move(cells));
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
    const Interruption interruption;
    request.interrupted = [&] { return interruption.requested(); };
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
  print_end(cases, report.counts(), report.header, console);
  return report_exit_code(report.exit_code());
}

}  // namespace

Command bench_command() {
  return {"bench",
          "how fast implementations are, beside measured roofs and floors",
          "",
          {Flag::kOperation, Flag::kVariant, Flag::kImplementation, Flag::kProblem, Flag::kBatch,
           Flag::kFill, Flag::kDtype, Flag::kSeed, Flag::kDevice, Flag::kMode, Flag::kCfg,
           Flag::kProtocol, Flag::kWarmup, Flag::kIterations, Flag::kShard, Flag::kRevision,
           Flag::kOutput, Flag::kJson, Flag::kQuiet},
          true,
          run_bench_command};
}

}  // namespace kw::cli
