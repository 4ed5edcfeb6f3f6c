// SPDX-License-Identifier: Apache-2.0
// Files of reports: read as a whole, replaced as a whole, and converted from one format to another.
#pragma once

#include <string>

namespace kw::suite {

// The file as it was or as it is to be, never a part. Both throw Error, naming the path.
void write_whole(const std::string& text, const std::string& path);
std::string read_whole(const std::string& path);

// A JSON report of any kind in the format that the suffix of `output` names, written there; in
// Markdown, and only returned, when that is empty. Throws Error for what is no report.
std::string convert_report(const std::string& path, const std::string& output);

}  // namespace kw::suite
