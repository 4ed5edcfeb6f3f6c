// SPDX-License-Identifier: Apache-2.0
// kw precompile: compiles what problems need on an architecture, whether or not such a device is
// here.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/capi/precompile.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/progress.hpp"
#include "kernelwright/cli/request.hpp"
#include "kernelwright/cli/table.hpp"
#include "kernelwright/ops/catalog.hpp"

namespace kw::cli {
namespace {

using capi::PrecompileReport;
using capi::PrecompileTask;

// With the problems of words and --problem, or of the batch of every operation that is meant. Free
// dimensions are welcome.
Subject subject_with_problems(const Flags& flags, const Catalog& catalog) {
  Subject subject = subject_of(flags, catalog);
  if (!subject.problems.empty() && !flags.batch.empty()) {
    fail(Code::kInvalidArgument, "--batch '{}' and problems exclude each other; give one",
         flags.batch);
  }
  if (!subject.problems.empty()) return subject;
  if (flags.batch.empty()) {
    fail(Code::kInvalidArgument,
         "kw precompile needs problems: --problem TEXT, where ? stands for any size, or --batch");
  }
  subject.problems =
      capi::problems_of_batch(catalog, flags.batch, subject.operation, subject.variant);
  return subject;
}

// As the processes will have it that use the kernels; but what is asked for here is compiled, or
// nothing is.
Settings settings_for(const Flags& flags, const Catalog& catalog,
                      const std::vector<std::string>& operations) {
  Settings settings = settings_of(flags, catalog, operations);
  if (flags.implementation.empty()) return settings;
  for (const std::string& operation : operations) {
    require_implementation(flags, catalog, operation, DeviceKind::kCuda);
    const Choice choice = settings.effective(operation);
    if (choice.source != Source::kEnvironment || choice.text() == flags.implementation) continue;
    fail(Code::kConflict, "asked to compile {}, but {} says '{}'; unset one of them",
         flags.implementation, choice.origin, choice.text());
  }
  return settings;
}

std::string spill_text(const jit::CompileFacts& facts) {
  if (facts.spill_store_bytes < 0 || facts.spill_load_bytes < 0) return "?";
  return std::to_string(facts.spill_store_bytes + facts.spill_load_bytes);
}

void print_units(const PrecompileReport& report, const Console& console) {
  Table table({"entry", "arch", ">registers", ">spilled bytes", ">ms", "origin"});
  for (const auto& plan : report.plans) {
    const jit::CompileFacts& facts = plan->compiled().entry.record.facts;
    const std::string spills = spill_text(facts);
    table.add({plan->unit().entry, plan->unit().arch,
               facts.registers < 0 ? "?" : std::to_string(facts.registers),
               Cell(spills, spills == "0" ? Style::kPlain : Style::kWarning),
               fmt::format("{:.1f}", plan->compiled().ms),
               jit::kOriginNames[static_cast<int>(plan->compiled().origin)]});
  }
  if (!table.empty()) console.out << table.text(console.out_colour, 0);
}

void print_errors(const std::vector<PrecompileTask>& tasks, bool quiet, const Console& console) {
  std::vector<std::string> said;  // one missing compiler fails every problem
  for (const PrecompileTask& task : tasks) {
    if (task.error.empty() || std::find(said.begin(), said.end(), task.error) != said.end())
      continue;
    said.push_back(task.error);
    const std::string text =
        fmt::format("{} for {}: {}", problem_text(*task.problem), task.arch, task.error);
    if (task.code) {
      console.error(text);
    } else if (!quiet) {
      console.warning(text);
    }
  }
}

ExitCode run_precompile(const Flags& flags, Console& console) {
  Catalog& catalog = builtin_catalog();
  Subject subject = subject_with_problems(flags, catalog);
  capi::PrecompileRequest request;
  request.settings = settings_for(flags, catalog, operations_of(subject));
  request.problems = std::move(subject.problems);
  request.from_batch = !flags.batch.empty();
  request.pins = cfg_pins_of(flags);
  std::vector<std::string> names;
  if (!flags.arch.empty()) {
    for (const std::string& name : split(flags.arch, ',')) names.emplace_back(trim(name));
  }
  request.architectures = capi::target_architectures(std::move(names), "--arch");
  request.pack = flags.pack;

  PrecompileReport report;
  {
    ProgressLine line(console, flags.quiet);
    request.progress = [&](std::string_view text) { line.show(text); };
    report = capi::precompile(request);
  }
  jit::Session& session = jit::Session::process();
  if (flags.json) {
    console.out << capi::precompile_json(report) << '\n';
  } else {
    if (!flags.quiet) print_units(report, console);
    console.out << fmt::format(
        "{} kernels of {} problems in {:.1f} s, {} compiled now; kept in {}{}\n",
        report.plans.size(), report.tasks.size(), report.seconds, report.compiled(),
        session.cache().options().directory, flags.pack.empty() ? "" : " and " + flags.pack);
  }
  print_errors(report.tasks, flags.quiet, console);
  if (session.counters().cache.write_failures > 0) {
    fail(Code::kEnvironment,
         "kernels could not be kept in {}; can it be written, is its disk full?",
         session.cache().options().directory);
  }
  return report.exit_code;
}

}  // namespace

Command precompile_command() {
  return {"precompile",
          "compiles the kernels that problems need into the cache; needs no device",
          "PROBLEM",
          {Flag::kOperation, Flag::kVariant, Flag::kImplementation, Flag::kProblem, Flag::kBatch,
           Flag::kArch, Flag::kConfig, Flag::kCfg, Flag::kPack, Flag::kJson, Flag::kQuiet},
          true,
          run_precompile};
}

}  // namespace kw::cli
