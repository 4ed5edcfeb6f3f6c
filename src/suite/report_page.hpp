// SPDX-License-Identifier: Apache-2.0
// Private: the sections of a report's page, from its JSON document.
#pragma once

#include <vector>

#include "kernelwright/suite/report_document.hpp"

namespace kw::suite {

// What one kind of report shows between its failures and its environment.
std::vector<Section> numerics_sections(const Json& document);
std::vector<Section> bench_sections(const Json& document);
std::vector<Section> compare_sections(const Json& document);

PageTable object_table(const Json& object, std::string title);
// "cpu.x.y", "1.2", "true", "3 values": a value of any type in a cell.
std::string value_text(const Json& value);
std::string joined(const Json& strings);

}  // namespace kw::suite
