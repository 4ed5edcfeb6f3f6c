// SPDX-License-Identifier: Apache-2.0
// The tables of this build: every src/ops/<folder>/tuning.json, embedded.
#pragma once

#include <string_view>

#include "kernelwright/tune/table.hpp"

namespace kw::tune {

// Empty for a folder without one. With KW_SOURCE_ROOT: the file of that tree, and a warning. Parsed
// at the first call for a folder; throws as parse_table, and then again at the next call.
const Table& table_of(std::string_view folder);

}  // namespace kw::tune
