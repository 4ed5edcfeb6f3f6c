// SPDX-License-Identifier: Apache-2.0
// kw precompile: compiles what problems need on an architecture, whether or not such a device is
// here.
#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernelwright/backend/cuda/cuda_architectures.hpp"
#include "kernelwright/backend/cuda/cuda_device.hpp"
#include "kernelwright/backend/cuda/cuda_toolchain.hpp"
#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/precompile.hpp"
#include "kernelwright/cli/request.hpp"
#include "kernelwright/cli/table.hpp"
#include "kernelwright/core/environment.hpp"
#include "kernelwright/jit/plan.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/runtime/compile_only_device.hpp"

namespace kw::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// Named, or those of the devices that are here.
std::vector<Hardware> architectures_of(const Flags& flags) {
  const std::string& pinned = environment().arch;
  std::vector<std::string> names;
  if (!flags.arch.empty()) {
    for (const std::string& name : split(flags.arch, ',')) names.emplace_back(trim(name));
  } else if (!pinned.empty()) {
    names = {pinned};
  }
  std::vector<Hardware> architectures;
  for (const std::string& name : names) {
    architectures.push_back(runtime::cuda_hardware(name));
    if (pinned.empty() || pinned == name) continue;
    fail(Code::kInvalidArgument,
         "--arch {}: KW_ARCH={} decides what is compiled in this process; unset it", name, pinned);
  }
  if (!architectures.empty()) return architectures;
  for (const Hardware& device : runtime::cuda_devices()) {
    const bool listed =
        std::any_of(architectures.begin(), architectures.end(),
                    [&](const Hardware& other) { return other.capability == device.capability; });
    if (!listed) architectures.push_back(device);
  }
  if (architectures.empty()) {
    fail(Code::kInvalidArgument,
         "no CUDA device is here to compile for; name an architecture with --arch: {}",
         join(runtime::cuda_architectures()));
  }
  return architectures;
}

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
  for (const suite::SuiteSpec& suite : builtin_suites()) {
    if (!subject.operation.empty() && suite.operation != subject.operation) continue;
    for (const std::string& line : suite::batch_lines(suite, flags.batch)) {
      for (const std::string& text : expand_problem_text(line)) {
        Problem problem = parse_problem(text, catalog);  // in a file, of any operation
        const bool wanted = problem.operation() == suite.operation &&
                            (subject.variant.empty() || subject.variant == problem.variant_name());
        if (wanted) subject.problems.push_back(std::move(problem));
      }
    }
  }
  if (subject.problems.empty()) {
    fail(Code::kNotFound, "the batch '{}' has no problem of {}{}{}", flags.batch,
         subject.operation.empty() ? "any operation" : subject.operation,
         subject.variant.empty() ? "" : "/", subject.variant);
  }
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

using Plans = std::vector<std::shared_ptr<const jit::Plan>>;

Plans plans_on(const std::vector<std::unique_ptr<runtime::CompileOnlyDevice>>& devices) {
  Plans all;
  for (const auto& device : devices) {
    Plans plans = jit::Session::process().plans_on(*device);
    std::sort(plans.begin(), plans.end(),
              [](const auto& a, const auto& b) { return a->unit().entry < b->unit().entry; });
    all.insert(all.end(), plans.begin(), plans.end());
  }
  return all;
}

std::string spill_text(const jit::CompileFacts& facts) {
  if (facts.spill_store_bytes < 0 || facts.spill_load_bytes < 0) return "?";
  return std::to_string(facts.spill_store_bytes + facts.spill_load_bytes);
}

void print_units(const Plans& plans, const Console& console) {
  Table table({"entry", "arch", ">registers", ">spilled bytes", ">ms", "origin"});
  for (const auto& plan : plans) {
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

Json to_json(const Plans& plans, const std::vector<PrecompileTask>& tasks, double seconds,
             ExitCode code) {
  Json json{{"schema", "kw.precompile/1"}, {"units", Json::array()}, {"problems", Json::array()}};
  for (const auto& plan : plans) {
    Json row = Json::object();
    for (const auto& [name, value] : plan->info()) row[name] = value;
    row["origin"] = jit::kOriginNames[static_cast<int>(plan->compiled().origin)];
    json["units"].push_back(std::move(row));
  }
  for (const PrecompileTask& task : tasks) {
    json["problems"].push_back({{"problem", problem_text(*task.problem)},
                                {"arch", jit::cuda_arch(task.device->hardware())},
                                {"implementation", task.implementation},
                                {"error", task.error}});
  }
  json["seconds"] = seconds;
  json["exit_code"] = static_cast<int>(code);
  return json;
}

// What stops a compiler comes first, then what it refused, then what nothing serves.
ExitCode verdict(const std::vector<PrecompileTask>& tasks, bool from_batch) {
  const auto any_failed = [&](const auto& which) {
    return std::any_of(tasks.begin(), tasks.end(), [&](const PrecompileTask& task) {
      return task.code && which(exit_code(*task.code));
    });
  };
  const auto count = static_cast<std::size_t>(std::count_if(
      tasks.begin(), tasks.end(), [](const PrecompileTask& task) { return task.error.empty(); }));
  if (any_failed([](ExitCode code) { return code == ExitCode::kEnvironment; })) {
    return ExitCode::kEnvironment;
  }
  if (any_failed([](ExitCode code) { return code == ExitCode::kInternal; })) {
    return ExitCode::kCheckFailed;
  }
  if (any_failed([](ExitCode) { return true; })) return ExitCode::kUsage;
  if (count == 0) return ExitCode::kNothingPassed;
  return count == tasks.size() || from_batch ? ExitCode::kPassed : ExitCode::kUsage;
}

void print_errors(const std::vector<PrecompileTask>& tasks, bool quiet, const Console& console) {
  std::vector<std::string> said;  // one missing compiler fails every problem
  for (const PrecompileTask& task : tasks) {
    if (task.error.empty() || std::find(said.begin(), said.end(), task.error) != said.end())
      continue;
    said.push_back(task.error);
    const std::string text = fmt::format("{} for {}: {}", problem_text(*task.problem),
                                         jit::cuda_arch(task.device->hardware()), task.error);
    if (task.code) {
      console.error(text);
    } else if (!quiet) {
      console.warning(text);
    }
  }
}

ExitCode run_precompile(const Flags& flags, Console& console) {
  const Clock::time_point start = Clock::now();
  Catalog& catalog = builtin_catalog();
  const Subject subject = subject_with_problems(flags, catalog);
  const Settings settings = settings_for(flags, catalog, operations_of(subject));
  const CfgPins pins = cfg_pins_of(flags);
  std::vector<std::unique_ptr<runtime::CompileOnlyDevice>> devices;
  for (const Hardware& hardware : architectures_of(flags)) {
    devices.push_back(std::make_unique<runtime::CompileOnlyDevice>(hardware));
  }
  // Compiling what cannot be kept would be for nothing.
  if (const std::string why = jit::Session::process().cache().write_obstacle(); !why.empty()) {
    fail_text(Code::kEnvironment, "compiled kernels cannot be kept: " + why);
  }

  std::vector<PrecompileTask> tasks;
  for (const auto& device : devices) {
    for (const Problem& problem : subject.problems)
      tasks.push_back({&problem, device.get(), "", "", {}});
  }
  Precompiler precompiler(catalog, settings, pins);
  {
    ProgressLine line(console, flags.quiet);
    const int threads = open_device({})->hardware().units;
    precompiler.run(tasks, static_cast<std::size_t>(threads), line);
  }

  const Plans plans = plans_on(devices);
  if (!flags.pack.empty()) {
    for (const auto& plan : plans) jit::add_to_pack(flags.pack, plan->compiled().entry);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const ExitCode code = verdict(tasks, !flags.batch.empty());
  if (flags.json) {
    console.out
        << to_json(plans, tasks, seconds, code).dump(2, ' ', false, Json::error_handler_t::replace)
        << '\n';
  } else {
    if (!flags.quiet) print_units(plans, console);
    const auto compiled = std::count_if(plans.begin(), plans.end(), [](const auto& plan) {
      return plan->compiled().origin == jit::Origin::kCompiled;
    });
    console.out << fmt::format(
        "{} kernels of {} problems in {:.1f} s, {} compiled now; kept in {}{}\n", plans.size(),
        tasks.size(), seconds, compiled, jit::Session::process().cache().options().directory,
        flags.pack.empty() ? "" : " and " + flags.pack);
  }
  print_errors(tasks, flags.quiet, console);
  if (jit::Session::process().counters().cache.write_failures > 0) {
    fail(Code::kEnvironment,
         "kernels could not be kept in {}; can it be written, is its disk full?",
         jit::Session::process().cache().options().directory);
  }
  return code;
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
