// SPDX-License-Identifier: Apache-2.0
// kw tune: searches the geometries of implementations, and writes what is best into a table.
#include <chrono>
#include <filesystem>
#include <ostream>

#include <fmt/format.h>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/request.hpp"
#include "kernelwright/cli/suite_command.hpp"
#include "kernelwright/jit/files.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/tune/run.hpp"

namespace kw::cli {
namespace {

// The table in a file, rewritten as a whole after every group, so that a run that is cut off keeps
// what it has.
class TableFile {
 public:
  explicit TableFile(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    if (!path_.ends_with(".json"))
      fail(Code::kInvalidArgument, "--output '{}': a tuning table is .json", path_);
    if (!std::filesystem::exists(path_)) return;
    const auto text = jit::read_text(path_);
    if (!text) fail(Code::kEnvironment, "--output '{}': exists, but cannot be read", path_);
    table_ = tune::parse_table(*text, path_);
  }

  void add(const tune::GroupOutcome& outcome, const Console& console) {
    if (path_.empty() || !outcome.skipped.empty()) return;
    const std::vector<std::string> lost = tune::record(outcome, table_);
    if (!lost.empty()) {
      console.warning(fmt::format(
          "{}: the former entry's buckets {} had another tree and are gone; tune their problems in "
          "the same run",
          path_, join(lost)));
    }
    const std::string text = tune::table_text(table_);
    const std::string why = jit::publish_file(path_, jit::bytes_of(text), jit::Publish::kReplace);
    if (!why.empty()) fail(Code::kEnvironment, "--output '{}': {}", path_, why);
  }

 private:
  std::string path_;
  tune::Table table_;
};

// One line on a terminal's standard error, as Progress draws for cases.
class ProgressLine {
 public:
  ProgressLine(const Console& console, bool quiet)
      : console_(console), shown_(console.err_is_terminal && !quiet) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void draw(const std::string& text) {
    const auto now = std::chrono::steady_clock::now();
    if (!shown_ || now - drawn_ < std::chrono::milliseconds(100)) return;
    drawn_ = now;
    console_.err << "\r\x1b[K" << text.substr(0, 78) << std::flush;
  }
  void clear() const {
    if (shown_) console_.err << "\r\x1b[K" << std::flush;
  }

 private:
  const Console& console_;
  bool shown_;
  std::chrono::steady_clock::time_point drawn_{};
};

void print(const tune::TuneReport& report, const Console& console) {
  Table table({"problem", "bucket", ">candidates", ">default ms", ">chosen ms", ">gain", "chosen"});
  for (const tune::GroupOutcome& group : report.groups) {
    for (const tune::ProblemOutcome& row : group.problems) {
      const bool same = row.chosen_ms == row.default_ms;
      table.add({row.problem, row.bucket, fmt::format("{}/{}", row.timed, row.candidates),
                 fmt::format("{:.5f}", row.default_ms), fmt::format("{:.5f}", row.chosen_ms),
                 same ? "-" : fmt::format("{:+.1f} %", 100 * (row.default_ms / row.chosen_ms - 1)),
                 Cell(same ? "the formula's" : row.chosen, same ? Style::kFaint : Style::kGood)});
    }
  }
  if (!table.empty()) console.out << table.text(console.out_colour, 0) << '\n';
}

void print_end(const tune::TuneReport& report, const Console& console) {
  int tuned = 0, formula = 0, cut = 0, skipped = 0, failed = 0;
  for (const tune::GroupOutcome& group : report.groups) {
    for (const tune::Failure& failure : group.failures) {
      ++failed;
      console.out << styled("failed", Style::kBad, console.out_colour) << ' ' << failure.reason
                  << ": " << failure.message << "\n  " << failure.repro << '\n';
    }
    if (!group.skipped.empty()) {
      ++skipped;
      console.out << styled("skipped", Style::kWarning, console.out_colour) << ' '
                  << group.implementation << ": " << group.skipped << '\n';
    } else {
      ++(group.formula ? formula : tuned);
      if (group.cut_short) ++cut;
    }
  }
  if (cut > 0) {
    console.warning(fmt::format(
        "--max-seconds ended {} of the searches; each knows the best of what it tried, and entries "
        "that the table had stay",
        cut));
  }
  console.out << fmt::format(
      "{} of {} groups get a table entry, for {} the formula is as good, {} skipped; {} candidates "
      "failed; {:.1f} s\n",
      tuned, report.groups.size(), formula, skipped, failed, report.header.seconds);
  if (report.groups.empty())
    console.error("the request selects no problem; loosen --variant, --dtype or --batch");
}

ExitCode run_tune_command(const Flags& flags, Console& console) {
  if (flags.words.size() > 1 ||
      (!flags.words.empty() && flags.words.front().find_first_of("/ ") != std::string::npos)) {
    fail(Code::kInvalidArgument,
         "'{}': kw tune takes the name of an operation; --variant and --problem say more",
         join(flags.words, " "));
  }
  tune::TuneRequest request;
  fill_request(request, flags, builtin_catalog());
  if (flags.operation.empty() && flags.words.empty() && flags.implementation.empty() &&
      flags.problems.empty()) {
    fail(Code::kInvalidArgument,
         "kw tune needs --operation, --implementation or --problem: it never tunes everything");
  }
  request.quick = flags.quick;
  if (flags.max_seconds) request.max_seconds = *flags.max_seconds;
  TableFile file(flags.output);
  const auto device = open_device(flags);
  const suite::Platform platform = platform_on(*device);
  tune::TuneReport report;
  {
    ProgressLine progress(console, flags.quiet);
    request.progress = [&](const std::string& text) { progress.draw(text); };
    request.finished = [&](const tune::GroupOutcome& outcome) {
      progress.clear();
      file.add(outcome, console);
    };
    report = tune::run_tune(request, platform, builtin_searches());
  }
  if (flags.json) {
    console.out << tune::to_json(report);
  } else {
    if (!flags.quiet) print(report, console);
    print_end(report, console);
  }
  return report_exit_code(report.exit_code());
}

}  // namespace

Command tune_command() {
  return {"tune",
          "searches geometries, verifies and times each, and writes a tuning table",
          "OPERATION",
          {Flag::kOperation, Flag::kVariant, Flag::kImplementation, Flag::kProblem, Flag::kBatch,
           Flag::kDtype, Flag::kSeed, Flag::kDevice, Flag::kCfg, Flag::kQuick, Flag::kMaxSeconds,
           Flag::kRevision, Flag::kOutput, Flag::kJson, Flag::kQuiet},
          true,
          run_tune_command};
}

}  // namespace kw::cli
