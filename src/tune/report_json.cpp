// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "kernelwright/tune/run.hpp"

namespace kw::tune {
namespace {

using Json = nlohmann::ordered_json;

Json problem_json(const ProblemOutcome& problem) {
  return {{"problem", problem.problem},       {"bucket", problem.bucket},
          {"candidates", problem.candidates}, {"timed", problem.timed},
          {"default_ms", problem.default_ms}, {"chosen_ms", problem.chosen_ms},
          {"fastest_ms", problem.fastest_ms}, {"chosen", problem.chosen},
          {"fastest", problem.fastest}};
}

Json group_json(const GroupOutcome& group) {
  Json failures = Json::array(), problems = Json::array();
  for (const Failure& failure : group.failures) {
    failures.push_back(
        {{"reason", failure.reason}, {"message", failure.message}, {"repro", failure.repro}});
  }
  for (const ProblemOutcome& problem : group.problems) problems.push_back(problem_json(problem));
  return {{"implementation", group.implementation},
          {"when", group.when},
          {"skipped", group.skipped},
          {"formula", group.formula},
          {"cut_short", group.cut_short},
          {"problems", std::move(problems)},
          {"failures", std::move(failures)}};
}

}  // namespace

std::string to_json(const TuneReport& report) {
  const suite::ReportHeader& header = report.header;
  Json environment = Json::object();
  for (const auto& [name, value] : header.environment) environment[name] = value;
  Json json{{"schema", "kw.report/1"},         {"kind", header.kind},
            {"started", header.started},       {"ended", header.ended},
            {"seconds", header.seconds},       {"argv", header.argv},
            {"revision", header.revision},     {"request", header.request},
            {"exit_code", report.exit_code()}, {"environment", std::move(environment)},
            {"groups", Json::array()}};
  for (const GroupOutcome& group : report.groups) json["groups"].push_back(group_json(group));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kw::tune
