// SPDX-License-Identifier: Apache-2.0
// Reports against src/suite/report.schema.json, through tools/check_report.py.
#pragma once

#include <string>

namespace kw::test {

// The text of the schema.
std::string report_schema();

// What the schema says against a report; empty: nothing.
std::string schema_problems(const std::string& report);

}  // namespace kw::test
