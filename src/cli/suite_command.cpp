// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/cli/suite_command.hpp"

#include <unistd.h>

#include <filesystem>
#include <ostream>
#include <tuple>

#include <fmt/format.h>

#include "kernelwright/backend/cuda/cuda_device.hpp"
#include "kernelwright/backend/cuda/cuda_toolchain.hpp"
#include "kernelwright/backend/cuda/nvml_monitor.hpp"
#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/log.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/cli/request.hpp"
#include "kernelwright/core/environment.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/ops/evidence_gate.hpp"
#include "kernelwright/ops/process.hpp"
#include "kernelwright/suite/checks/device_pages.hpp"
#include "kernelwright/suite/device_kernels.hpp"

namespace kw::cli {
namespace {

using suite::CaseStatus;

void require_dtype(const std::string& name) {
  if (parse_dtype(name)) return;
  fail_text(Code::kNotFound, "--dtype: " + unknown_dtype_message(name));
}

bool is_wrong(CaseStatus status) noexcept {
  return status == CaseStatus::kFailed || status == CaseStatus::kError ||
         status == CaseStatus::kMistrusted;
}

}  // namespace

void require_report_path(const std::string& path) {
  if (!path.ends_with(".json") && !path.ends_with(".md") && !path.ends_with(".html")) {
    fail(Code::kInvalidArgument,
         "--output '{}': the suffix chooses the format; use .json, .md or .html", path);
  }
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    fail(Code::kEnvironment, "--output '{}': cannot write in the folder '{}'", path, folder);
  }
}

void fill_request(suite::Request& request, const Flags& flags, const Catalog& catalog) {
  if (!flags.output.empty()) require_report_path(flags.output);
  if (!flags.dtype.empty()) require_dtype(flags.dtype);
  const Subject subject = subject_of(flags, catalog);
  const auto device = device_name_of(flags);
  if (!flags.implementation.empty() && !subject.operation.empty()) {
    require_implementation(flags, catalog, subject.operation, device.kind);
  }
  request.operation = subject.operation;
  request.implementation = flags.implementation;
  if (!flags.variant.empty()) request.variants = {flags.variant};
  request.problems = flags.problems;
  if (!flags.batch.empty()) {
    if (!flags.problems.empty()) {
      fail(Code::kInvalidArgument, "--batch '{}' and --problem exclude each other; give one",
           flags.batch);
    }
    request.batch = flags.batch;
  }
  request.dtype = flags.dtype;
  if (!flags.mode.empty()) request.mode = parse_mode(flags.mode);
  if (flags.seed) request.seed = *flags.seed;
  request.pins = cfg_pins_of(flags);
  std::tie(request.shard, request.shards) = shard_of(flags);
  request.argv = flags.argv;
  request.revision = flags.revision;
}

suite::Platform platform_on(runtime::Device& device) {
  suite::Platform platform{builtin_catalog(), device, builtin_suites(), environment().overrides};
  if (device.hardware().kind == DeviceKind::kCuda) {
    platform.kernels = std::make_shared<suite::DeviceKernels>(device, jit::cuda_toolchain(),
                                                              jit::cuda_arch(device.hardware()));
    platform.monitor = runtime::open_cuda_monitor(device.hardware().index);
  }
  platform.driver = evidence_driver(device.hardware().kind);
  return platform;
}

std::unique_ptr<runtime::Device> open_second_device(const runtime::Device& device) {
  const Hardware& first = device.hardware();
  if (first.kind != DeviceKind::kCuda) return nullptr;
  for (const Hardware& other : runtime::cuda_devices()) {
    const bool alike = other.model == first.model && other.capability == first.capability;
    if (alike && other.index != first.index)
      return kw::open_device({DeviceKind::kCuda, other.index});
  }
  return nullptr;
}

std::shared_ptr<suite::DevicePages> open_pages(const Flags& flags) {
  const auto name = device_name_of(flags);
  if (name.kind != DeviceKind::kCuda) return nullptr;
  return std::make_shared<suite::DevicePages>([name](const std::string&) -> const suite::Platform& {
    static const auto device = kw::open_device(name);  // of a worker
    static const suite::Platform platform{builtin_catalog(), *device, {}, environment().overrides};
    return platform;
  });
}

void store_evidence(const suite::NumericsReport& report, const suite::NumericsRequest& request,
                    const suite::Platform& platform) {
  suite::EvidenceStore store = evidence_store();
  for (const suite::Evidence& evidence : suite::evidence_of(report, request, platform)) {
    if (const std::string why = store.store(evidence); !why.empty()) {
      log(LogLevel::kWarning, "evidence",
          fmt::format("none is stored for {}: {}", evidence.identity.implementation, why));
      return;
    }
  }
}

void require_pins(const suite::Request& request, const suite::Platform& platform) {
  if (request.pins.empty()) return;
  const Hardware& hardware = platform.device.hardware();
  for (const suite::Target& target : suite::find_targets(request, platform)) {
    const Implementation& implementation = *target.implementation;
    const ImplementationFunctions& functions = implementation.functions;
    for (const Problem& problem :
         suite::find_problems(request, platform, *target.operation->contract)) {
      if (functions.supports(implementation.self, problem, hardware)) continue;
      functions.choose(implementation.self, problem, hardware, request.pins);
      break;
    }
  }
}

void Progress::step(const suite::CaseResult& result) {
  ++cases_;
  if (is_wrong(result.status)) ++failures_;
  line_.show(fmt::format("case {}, {} wrong: {}", cases_, failures_, result.problem));
}

Cell status_cell(CaseStatus status) {
  const Style style = status == CaseStatus::kPassed ? Style::kGood
                      : is_wrong(status)            ? Style::kBad
                                                    : Style::kFaint;
  return {suite::status_name(status), style};
}

void print_end(const std::vector<const suite::CaseResult*>& cases, const suite::Counts& counts,
               const suite::ReportHeader& header, const Console& console) {
  const bool colour = console.out_colour;
  for (const suite::CaseResult* result : cases) {
    if (!is_wrong(result->status)) continue;
    console.out << styled(suite::status_name(result->status), Style::kBad, colour) << ' '
                << suite::reason_name(result->reason) << ": " << result->message << "\n  "
                << result->repro << '\n';
  }
  std::string text = fmt::format("{} {} in {:.1f} s", counts.total(),
                                 counts.total() == 1 ? "case" : "cases", header.seconds);
  const auto append = [&](int number, CaseStatus status) {
    if (number == 0) return;
    const Cell cell = status_cell(status);
    text += ", " + styled(fmt::format("{} {}", number, cell.text), cell.style, colour);
  };
  append(counts.passed, CaseStatus::kPassed);
  append(counts.failed, CaseStatus::kFailed);
  append(counts.error, CaseStatus::kError);
  append(counts.mistrusted, CaseStatus::kMistrusted);
  append(counts.not_applicable, CaseStatus::kNotApplicable);
  append(counts.skipped, CaseStatus::kSkipped);
  std::vector<std::string> reasons;
  for (const auto& [reason, number] : counts.by_reason) {
    reasons.push_back(fmt::format("{} {}", reason, number));
  }
  console.out << text << (reasons.empty() ? "" : " (" + join(reasons) + ")") << '\n';
  if (!header.complete) {
    console.error("interrupted: the rest did not run, and the report is of what did");
  } else if (counts.total() == 0) {
    console.error("the request selects no case; loosen --variant, --dtype, --batch or --shard");
  } else if (counts.passed == 0 && counts.failed + counts.error == 0) {
    console.error("no case passed");
  }
}

void print_coverage(const std::vector<suite::Coverage>& coverage, const Console& console) {
  for (const suite::Coverage& target : coverage) {
    if (target.exceeds_limit()) console.error(target.limit_message());
  }
}

ExitCode report_exit_code(int code) {
  switch (code) {
    case 0:
      return ExitCode::kPassed;
    case 1:
      return ExitCode::kCheckFailed;
    case 3:
      return ExitCode::kNothingPassed;
    case suite::kInterruptedExit:
      return ExitCode::kInterrupted;
    default:
      fail(Code::kInternal, "a suite report has the exit code {}", code);
  }
}

}  // namespace kw::cli
