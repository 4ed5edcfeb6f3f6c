// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/cli/self_test.hpp"

#include <fmt/format.h>

#include "kernelwright/backend/cuda/cuda_toolchain.hpp"
#include "kernelwright/base/fail.hpp"
#include "kernelwright/cli/progress.hpp"
#include "kernelwright/cli/request.hpp"
#include "kernelwright/cli/suite_command.hpp"
#include "kernelwright/cli/table.hpp"
#include "kernelwright/suite/selftest/self_test.hpp"

namespace kw::cli {
namespace {

using suite::SelfTestRow;

// The self-test has problems of its own; a flag that would choose others is a misunderstanding.
void require_alone(const Flags& flags) {
  const bool chooses = !flags.operation.empty() || !flags.implementation.empty() ||
                       !flags.problems.empty() || !flags.batch.empty() || !flags.fuzz.empty() ||
                       !flags.variant.empty() || !flags.cfg.empty() || !flags.output.empty() ||
                       !flags.dtype.empty() || !flags.fill.empty();
  if (chooses) {
    fail(
        Code::kInvalidArgument,
        "--self-test judges numerics itself, by defects planted in operations of its own; it takes "
        "--device cuda, --guard-pages, --quiet and --json beside it");
  }
}

suite::SelfTestDevice real_device(runtime::Device& device) {
  return {device, nullptr, {&jit::cuda_toolchain(), jit::cuda_arch(device.hardware())}};
}

// Devices in software unless --device names a real one.
suite::SelfTestReport run(const Flags& flags,
                          const std::function<void(const SelfTestRow&)>& progress) {
  const auto name = device_name_of(flags);
  if (name.kind == DeviceKind::kCpu) return suite::run_self_test("", progress);
  std::shared_ptr<suite::DevicePages> pages;
  if (flags.guard_pages) {  // before the driver starts
    pages = suite::self_test_pages([&flags] {
      static const auto device = open_device(flags);  // of a worker
      return real_device(*device);
    });
  }
  const auto device = open_device(flags);
  const auto second = open_second_device(*device);
  suite::SelfTestDevice real = real_device(*device);
  real.second = second.get();
  real.pages = std::move(pages);
  return suite::run_self_test("", progress, &real);
}

std::string check_of(const SelfTestRow& row) {
  const suite::CaseResult& result = row.result;
  return result.message.substr(0, result.message.find(": "));
}

void print_table(const suite::SelfTestReport& report, const Console& console) {
  Table table({"", "defect", "what is wrong", "found as", "by the check"});
  for (const SelfTestRow& row : report.rows) {
    const bool ran = row.skipped.empty();
    const Cell verdict = !ran         ? Cell("skipped", Style::kFaint)
                         : row.killed ? Cell("killed", Style::kGood)
                                      : Cell("LIVES", Style::kBad);
    table.add({verdict, row.saboteur->name(), row.saboteur->what,
               ran ? std::string(suite::reason_name(row.result.reason)) : row.skipped,
               ran ? check_of(row) : std::string()});
  }
  console.out << table.text(console.out_colour, 0) << '\n';
}

}  // namespace

ExitCode run_self_test_command(const Flags& flags, Console& console) {
  require_alone(flags);
  suite::SelfTestReport report;
  {
    ProgressLine line(console, flags.quiet);
    int done = 0;
    report = run(flags, [&](const SelfTestRow& row) {
      line.show(fmt::format("defect {} of {}: {}", ++done, suite::saboteurs().size(),
                            row.saboteur->name()));
    });
  }
  if (flags.json) {
    console.out << suite::to_json(report);
    return report.passed() ? ExitCode::kPassed : ExitCode::kCheckFailed;
  }
  if (!flags.quiet) print_table(report, console);
  for (const SelfTestRow* row : report.survivors()) {
    console.error(fmt::format("{} lives: {} {} {}", row->saboteur->name(),
                              suite::status_name(row->result.status),
                              suite::reason_name(row->result.reason), row->result.message));
  }
  for (const SelfTestRow* row : report.false_alarms()) {
    console.error(fmt::format("without a defect, {} fails: {}", row->saboteur->problem,
                              row->control.message));
  }
  const int ran = static_cast<int>(report.rows.size()) - report.skipped();
  console.out << fmt::format("kill rate {} of {} planted defects, {} false alarms\n",
                             report.killed(), ran, report.false_alarms().size());
  return report.passed() ? ExitCode::kPassed : ExitCode::kCheckFailed;
}

}  // namespace kw::cli
