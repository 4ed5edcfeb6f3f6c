// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/suite.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/suite/suite_yaml.hpp"

namespace kw::suite {
namespace {

constexpr std::array<std::string_view, 3> kLevels{"smoke", "ci", "full"};

std::vector<std::string> file_lines(const std::string& path, const std::string& operation) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  if (path.ends_with(".yaml")) {
    std::ostringstream text;
    text << file.rdbuf();
    if (file) lines = parse_batch_file(text.str(), path, operation);
  }
  for (std::string line; std::getline(file, line);) {
    if (const auto comment = line.find('#'); comment != std::string::npos) line.resize(comment);
    if (const auto text = trim(line); !text.empty()) lines.emplace_back(text);
  }
  if (lines.empty())
    fail(Code::kNotFound, "batch file '{}' holds no problem of '{}'; write one problem a line",
         path, operation);
  return lines;
}

}  // namespace

std::vector<std::string> batch_lines(const SuiteSpec& suite, std::string_view name) {
  if (name.find_first_of("./") != std::string_view::npos)
    return file_lines(std::string(name), suite.operation);
  const auto level = std::find(kLevels.begin(), kLevels.end(), name);
  std::vector<std::string> lines, names;
  bool found = false;
  for (const SuiteBatch& batch : suite.batches) {
    names.push_back(batch.name);
    const auto own = std::find(kLevels.begin(), kLevels.end(), batch.name);
    if (batch.name != name && (level == kLevels.end() || own == kLevels.end() || own > level))
      continue;
    found = true;
    lines.insert(lines.end(), batch.problems.begin(), batch.problems.end());
  }
  if (!found)
    fail(Code::kNotFound, "{} (of '{}'); a name with '.' or '/' is a file",
         unknown_name_message("batch", name, names), suite.operation);
  return lines;
}

std::vector<Problem> parse_problems(const std::vector<std::string>& lines, const Contract& contract,
                                    const ContractSource& contracts) {
  std::vector<Problem> problems;
  for (const std::string& line : lines) {
    for (const std::string& text : expand_problem_text(line)) {
      Problem problem = parse_problem(text, contracts);
      if (problem.contract != &contract) {
        fail(Code::kInvalidArgument, "problem '{}' is of operation '{}', but '{}' is to be run",
             text, problem.operation(), contract.operation);
      }
      if (problem.has_free_dims())
        fail(Code::kInvalidArgument,
             "problem '{}' has free dimensions ('?'); a case needs every size", text);
      problems.push_back(std::move(problem));
    }
  }
  return problems;
}

}  // namespace kw::suite
