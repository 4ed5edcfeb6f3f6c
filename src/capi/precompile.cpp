// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/capi/precompile.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernelwright/backend/cpu/cpu_device.hpp"
#include "kernelwright/backend/cuda/cuda_architectures.hpp"
#include "kernelwright/backend/cuda/cuda_device.hpp"
#include "kernelwright/backend/cuda/cuda_toolchain.hpp"
#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/core/environment.hpp"
#include "kernelwright/core/explain.hpp"
#include "kernelwright/ops/catalog.hpp"

namespace kw::capi {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// A context serialises what it builds for one operation; so every thread has its own, and the
// session behind them compiles a unit once.
using Contexts = std::map<const runtime::Device*, std::unique_ptr<Context>>;

void prepare(const PrecompileRequest& request, runtime::Device& device, PrecompileTask& task,
             Contexts& contexts) {
  try {
    auto& context = contexts[&device];
    if (context == nullptr) {
      Settings settings = request.settings;
      settings.require_evidence = false;  // nothing is run, and there is no device to judge it on
      context = std::make_unique<Context>(builtin_catalog(), std::move(settings), device);
    }
    const Explanation explanation = explain(*context, *task.problem);
    if (explanation.choice.is_eager()) {
      task.error = fmt::format("'{}' from {}: the model's own code, nothing to compile",
                               explanation.choice.text(), explanation.choice.origin);
      return;
    }
    task.implementation = explanation.selected;
    context->prepare(*task.problem, request.pins);
  } catch (const Error& error) {
    task.error = error.what();
    if (!task.implementation.empty()) task.code = error.code();
  }
}

// Contexts hold what was prepared, so that its plans can be asked for afterwards.
std::vector<Contexts> prepare_all(const PrecompileRequest& request, PrecompileReport& report) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;  // guards `done` and the order of progress
  std::size_t done = 0;
  std::vector<PrecompileTask>& tasks = report.tasks;
  const auto work = [&](Contexts& contexts) {
    for (std::size_t i = next++; i < tasks.size(); i = next++) {
      prepare(request, *report.devices[i / request.problems.size()], tasks[i], contexts);
      const std::lock_guard lock(mutex);
      ++done;
      if (!request.progress) continue;
      request.progress(
          fmt::format("problem {} of {}: {}", done, tasks.size(), problem_text(*tasks[i].problem)));
    }
  };
  const int threads = runtime::CpuDevice().hardware().units;
  std::vector<Contexts> contexts(
      std::clamp<std::size_t>(static_cast<std::size_t>(threads), 1, tasks.size()));
  std::vector<std::jthread> workers;
  for (std::size_t i = 1; i < contexts.size(); ++i) {
    workers.emplace_back(work, std::ref(contexts[i]));
  }
  work(contexts.front());
  workers.clear();  // joins
  return contexts;
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

}  // namespace

std::int64_t PrecompileReport::compiled() const noexcept {
  return std::count_if(plans.begin(), plans.end(), [](const auto& plan) {
    return plan->compiled().origin == jit::Origin::kCompiled;
  });
}

PrecompileReport precompile(const PrecompileRequest& request) {
  const Clock::time_point start = Clock::now();
  jit::Session& session = jit::Session::process();
  // Compiling what cannot be kept would be for nothing.
  if (const std::string why = session.cache().write_obstacle(); !why.empty()) {
    fail_text(Code::kEnvironment, "compiled kernels cannot be kept: " + why);
  }
  PrecompileReport report;
  for (const Hardware& hardware : request.architectures) {
    auto& device =
        report.devices.emplace_back(std::make_unique<runtime::CompileOnlyDevice>(hardware));
    for (const Problem& problem : request.problems) {
      report.tasks.push_back({&problem, device.get(), jit::cuda_arch(hardware), "", "", {}});
    }
  }
  if (report.tasks.empty()) fail(Code::kInvalidArgument, "no problem to compile for");
  const std::vector<Contexts> contexts = prepare_all(request, report);
  for (const auto& device : report.devices) {
    auto plans = session.plans_on(*device);
    std::sort(plans.begin(), plans.end(),
              [](const auto& a, const auto& b) { return a->unit().entry < b->unit().entry; });
    report.plans.insert(report.plans.end(), plans.begin(), plans.end());
  }
  if (!request.pack.empty()) {
    for (const auto& plan : report.plans) jit::add_to_pack(request.pack, plan->compiled().entry);
  }
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  report.exit_code = verdict(report.tasks, request.from_batch);
  return report;
}

std::string precompile_json(const PrecompileReport& report) {
  Json json{{"schema", "kw.precompile/1"}, {"units", Json::array()}, {"problems", Json::array()}};
  for (const auto& plan : report.plans) {
    Json row = Json::object();
    for (const auto& [name, value] : plan->info()) row[name] = value;
    row["origin"] = jit::kOriginNames[static_cast<int>(plan->compiled().origin)];
    json["units"].push_back(std::move(row));
  }
  for (const PrecompileTask& task : report.tasks) {
    json["problems"].push_back({{"problem", problem_text(*task.problem)},
                                {"arch", task.arch},
                                {"implementation", task.implementation},
                                {"error", task.error}});
  }
  json["seconds"] = report.seconds;
  json["exit_code"] = static_cast<int>(report.exit_code);
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::vector<Hardware> target_architectures(std::vector<std::string> names,
                                           std::string_view source) {
  const std::string& pinned = environment().arch;
  if (names.empty() && !pinned.empty()) names = {pinned};
  std::vector<Hardware> architectures;
  for (const std::string& name : names) {
    architectures.push_back(runtime::cuda_hardware(name));
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
         "no CUDA device is here to compile for; name an architecture with {}: {}", source,
         join(runtime::cuda_architectures()));
  }
  return architectures;
}

std::vector<Problem> problems_of_batch(const Catalog& catalog, std::string_view batch,
                                       std::string_view operation, std::string_view variant) {
  std::vector<Problem> problems;
  for (const suite::SuiteSpec& suite : builtin_suites()) {
    if (!operation.empty() && suite.operation != operation) continue;
    for (const std::string& line : suite::batch_lines(suite, batch)) {
      for (const std::string& text : expand_problem_text(line)) {
        Problem problem = parse_problem(text, catalog);  // in a file, of any operation
        const bool wanted = problem.operation() == suite.operation &&
                            (variant.empty() || variant == problem.variant_name());
        if (wanted) problems.push_back(std::move(problem));
      }
    }
  }
  if (problems.empty()) {
    fail(Code::kNotFound, "the batch '{}' has no problem of {}{}{}", batch,
         operation.empty() ? "any operation" : operation, variant.empty() ? "" : "/", variant);
  }
  return problems;
}

}  // namespace kw::capi
