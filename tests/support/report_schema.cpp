// SPDX-License-Identifier: Apache-2.0
#include "support/report_schema.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace kw::test {

std::string report_schema() {
  std::ifstream file(KW_SOURCE_FOLDER "/src/suite/report.schema.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string schema_problems(const std::string& report) {
  std::string path = std::filesystem::temp_directory_path() / "kw_report_XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) return "no temporary file";
  close(file);
  std::ofstream(path) << report;
  const std::string command =
      KW_SCHEMA_PYTHON " " KW_SOURCE_FOLDER "/tools/check_report.py " + path + " 2>&1";
  std::string output;
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "no shell";
  std::array<char, 4096> buffer;
  for (std::size_t count; (count = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    output.append(buffer.data(), count);
  const int status = pclose(pipe);
  std::filesystem::remove(path);
  return status == 0 ? "" : output.empty() ? "check_report.py failed" : output;
}

}  // namespace kw::test
