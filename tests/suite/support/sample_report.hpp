// SPDX-License-Identifier: Apache-2.0
// Made-up reports, complete enough for the schema.
#pragma once

#include "kernelwright/suite/report.hpp"

namespace kw::test {

suite::ReportHeader sample_header(std::string kind);
// One case passed, one wrote out of bounds.
suite::NumericsReport sample_report();
// One case, timed with the protocol wall_cold.
suite::BenchReport sample_bench_report();

}  // namespace kw::test
