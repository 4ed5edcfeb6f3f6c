// SPDX-License-Identifier: Apache-2.0
// kw compare A B: which of two implementations, or of two bench reports, is faster.
#include <ostream>

#include <fmt/format.h>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/request.hpp"
#include "kernelwright/cli/suite_command.hpp"
#include "kernelwright/jit/files.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/suite/comparison.hpp"
#include "kernelwright/suite/protocol.hpp"
#include "kernelwright/suite/statistics.hpp"

namespace kw::cli {
namespace {

bool is_report(const std::string& word) { return word.ends_with(".json"); }

std::string report_text(const std::string& path) {
  const auto text = jit::read_text(path);
  if (!text) fail(Code::kEnvironment, "report '{}' cannot be read", path);
  return *text;
}

void refuse_run_flags(const Flags& flags) {
  if (flags.operation.empty() && flags.problems.empty() && flags.batch.empty() &&
      flags.device.empty() && flags.dtype.empty() && flags.variant.empty())
    return;
  fail(Code::kInvalidArgument,
       "two reports are compared as they are: --operation, --variant, --problem, --batch, --dtype "
       "and --device choose what is run");
}

// Of the figure `name`, which has to be one that this device gives.
bool is_hot(const std::string& name, const runtime::Device& device) {
  const suite::Protocol protocol = suite::parse_protocol(name);
  const suite::Protocol here =
      device.has_graphs() ? suite::Protocol::kGraph : suite::Protocol::kWallSync;
  const bool hot = name.ends_with("_hot");
  if (protocol != here || (!hot && !name.ends_with("_cold"))) {
    const char* known = device.has_graphs() ? "graph_cold or graph_hot" : "wall_cold or wall_hot";
    fail(Code::kInvalidArgument, "--protocol '{}': on {} kw compare takes {}", name, device.name(),
         known);
  }
  return hot;
}

suite::CompareReport compare_implementations(const Flags& flags, Console& console) {
  suite::CompareRequest request;
  Flags given = flags;
  given.words.clear();
  request.a = flags.words[0];
  request.b = flags.words[1];
  for (const std::string& side : {request.a, request.b}) {
    if (side == suite::kCopy) continue;
    given.implementation = side;
    fill_request(request, given, builtin_catalog());
  }
  if (!flags.fill.empty()) request.fill = flags.fill;
  if (flags.iterations) request.rule.pairs = *flags.iterations;
  if (flags.seed) request.rule.seed = *flags.seed;
  const auto device = open_device(flags);
  for (const std::string& name : flags.protocols) request.hot = is_hot(name, *device);
  const suite::Platform platform = platform_on(*device);
  ProgressLine progress(console, flags.quiet);
  int compared = 0;
  return suite::run_compare(request, platform, [&](const suite::ComparisonRow& row) {
    progress.show(fmt::format("problem {}: {}", ++compared, row.problem));
  });
}

Style style_of(suite::Verdict verdict) {
  switch (verdict) {
    case suite::Verdict::kFaster:
      return Style::kGood;
    case suite::Verdict::kSlower:
      return Style::kBad;
    case suite::Verdict::kAmbiguous:
      return Style::kWarning;
    case suite::Verdict::kSame:
      break;
  }
  return Style::kPlain;
}

void print_rows(const suite::CompareReport& report, const Console& console) {
  console.out << "A " << report.a << ", B " << report.b
              << "; ratio: A's time by B's, above 1 B is faster\n";
  Table table({"verdict", ">ratio", "99 %", ">delta", ">A", ">B", "protocol", "problem", "flags"});
  for (const suite::ComparisonRow& row : report.rows) {
    if (!row.compared()) continue;
    const suite::PairComparison& result = row.result;
    table.add({Cell(suite::verdict_name(result.verdict), style_of(result.verdict)),
               fmt::format("{:.3f}", result.ratio),
               fmt::format("{:.3f} - {:.3f}", result.interval.low, result.interval.high),
               fmt::format("{:.1f} %", 100 * result.delta), suite::duration_text(row.a_ns),
               suite::duration_text(row.b_ns), row.protocol, row.problem,
               Cell(join(row.flags), Style::kWarning)});
  }
  if (!table.empty()) console.out << table.text(console.out_colour, 0);
}

void print_end(const suite::CompareReport& report, const Console& console) {
  for (const suite::ComparisonRow& row : report.rows) {
    if (row.compared()) continue;
    console.out << styled(suite::status_name(row.status), Style::kBad, console.out_colour) << ' '
                << suite::reason_name(row.reason) << ": " << row.message << '\n';
  }
  std::vector<std::string> counts;
  for (const suite::Verdict verdict : {suite::Verdict::kFaster, suite::Verdict::kSlower,
                                       suite::Verdict::kSame, suite::Verdict::kAmbiguous}) {
    if (const int number = report.count(verdict); number > 0)
      counts.push_back(fmt::format("{} {}", number, suite::verdict_name(verdict)));
  }
  console.out << fmt::format("{} compared: {}\n", report.counts().passed, join(counts));
}

ExitCode run_compare_command(const Flags& flags, Console& console) {
  if (flags.words.size() != 2) {
    fail(Code::kInvalidArgument,
         "kw compare takes two implementations or two reports (.json), A and B; {} given",
         flags.words.size());
  }
  if (is_report(flags.words[0]) != is_report(flags.words[1])) {
    fail(Code::kInvalidArgument,
         "'{}' and '{}': one is a report and the other is not; give two implementations or two "
         "reports",
         flags.words[0], flags.words[1]);
  }
  suite::CompareReport report;
  if (is_report(flags.words[0])) {
    refuse_run_flags(flags);
    const std::string a = report_text(flags.words[0]), b = report_text(flags.words[1]);
    report = suite::compare_reports(a, b, flags.words[0], flags.words[1]);
    report.header.argv = flags.argv;
    report.header.revision = flags.revision;
  } else {
    report = compare_implementations(flags, console);
  }
  if (!flags.output.empty()) suite::write_report(report, flags.output);
  if (flags.json) {
    console.out << suite::to_json(report);
    return report_exit_code(report.exit_code());
  }
  if (!flags.quiet) print_rows(report, console);
  print_end(report, console);
  return report_exit_code(report.exit_code());
}

}  // namespace

Command compare_command() {
  return {
      "compare",
      "which of two implementations, or of two bench reports, is faster",
      "A B",
      {Flag::kOperation, Flag::kVariant, Flag::kProblem, Flag::kBatch, Flag::kFill, Flag::kDtype,
       Flag::kSeed, Flag::kDevice, Flag::kMode, Flag::kCfg, Flag::kProtocol, Flag::kIterations,
       Flag::kShard, Flag::kRevision, Flag::kOutput, Flag::kJson, Flag::kQuiet},
      true,
      run_compare_command};
}

}  // namespace kw::cli
