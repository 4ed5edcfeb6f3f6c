// SPDX-License-Identifier: Apache-2.0
// What `kw numerics` and `kw bench` share: the request, the report file, progress, and the end of
// their output.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernelwright/cli/console.hpp"
#include "kernelwright/cli/exit_code.hpp"
#include "kernelwright/cli/flags.hpp"
#include "kernelwright/cli/progress.hpp"
#include "kernelwright/cli/table.hpp"
#include "kernelwright/suite/evidence.hpp"

namespace kw::cli {

// Fills in what both have in common. Names, problems and the report path are checked here, before a
// device is opened; `kind` is that of the device to come.
void fill_request(suite::Request& request, const Flags& flags, const Catalog& catalog);

// Checks the suffix of --output, and that its folder can be written: a report that cannot be
// written must not cost a run first.
void require_report_path(const std::string& path);

// The platform of this process on `device`.
suite::Platform platform_on(runtime::Device& device);

// Another device of the same model, for the checks that need two; null: there is none.
std::unique_ptr<runtime::Device> open_second_device(const runtime::Device& device);

// Page guards of --device; null for the CPU, which has others. To be called before any device is
// opened.
std::shared_ptr<suite::DevicePages> open_pages(const Flags& flags);

// Stores what the run proves; a cache that cannot be written is a log line, not a failure.
void store_evidence(const suite::NumericsReport& report, const suite::NumericsRequest& request,
                    const suite::Platform& platform);

// Tries the pins of `request` on a problem of each target: an unknown field or value is a wrong
// request, not a failed case.
void require_pins(const suite::Request& request, const suite::Platform& platform);

class Progress {
 public:
  Progress(const Console& console, bool quiet) : line_(console, quiet) {}

  void step(const suite::CaseResult& result);

 private:
  ProgressLine line_;
  int cases_ = 0, failures_ = 0;
};

Cell status_cell(suite::CaseStatus status);

// Everything wrong, one finding and one command line each, then the counts, and whether that is
// all.
void print_end(const std::vector<const suite::CaseResult*>& cases, const suite::Counts& counts,
               const suite::ReportHeader& header, const Console& console);

// Targets that left out too much of the batch, one line each.
void print_coverage(const std::vector<suite::Coverage>& coverage, const Console& console);

// The code of a suite report as one of ours.
ExitCode report_exit_code(int code);

}  // namespace kw::cli
