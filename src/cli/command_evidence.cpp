// SPDX-License-Identifier: Apache-2.0
// kw evidence: which implementations are known to have passed numerics, and where.
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/table.hpp"
#include "kernelwright/ops/evidence_gate.hpp"

namespace kw::cli {
namespace {

using Json = nlohmann::ordered_json;
using suite::Evidence;

constexpr std::size_t kShortKey = 12;  // digits in a table
constexpr const char* kNoBatch = "single problems";

std::vector<std::pair<std::string, std::string>> facts_of(const Evidence& evidence) {
  const suite::EvidenceIdentity& identity = evidence.identity;
  return {{"key", identity.key()},
          {"implementation", identity.implementation},
          {"code", identity.code},
          {"device_model", identity.device_model},
          {"driver", identity.driver.empty() ? "none" : identity.driver},
          {"suite_version", std::to_string(identity.suite_version)},
          {"batch", evidence.batch.empty() ? kNoBatch : evidence.batch},
          {"mode", evidence.mode},
          {"cases", std::to_string(evidence.cases)},
          {"stored", evidence.stored}};
}

void print_json(const std::vector<Evidence>& all, const Console& console) {
  Json rows = Json::array();
  for (const Evidence& evidence : all) {
    Json row = Json::object();
    for (const auto& [name, value] : facts_of(evidence)) row[name] = value;
    for (const suite::PassedProblem& each : evidence.problems)
      row["problems"].push_back({{"problem", each.problem}, {"cfg", each.specialization}});
    rows.push_back(std::move(row));
  }
  console.out << Json{{"evidence", std::move(rows)}}.dump(2) << '\n';
}

ExitCode list(const suite::EvidenceStore& store, const Flags& flags, const Console& console) {
  std::vector<std::string> damaged;
  const std::vector<Evidence> all = store.list(&damaged);
  for (const std::string& path : damaged)
    console.warning(fmt::format("'{}' is damaged and counts as nothing", path));
  if (flags.json) {
    print_json(all, console);
    return ExitCode::kPassed;
  }
  Table table(
      {"key", "implementation", "device", "driver", "batch", "mode", ">cases", "stored", "code"});
  for (const Evidence& evidence : all) {
    const suite::EvidenceIdentity& identity = evidence.identity;
    table.add({identity.key().substr(0, kShortKey), identity.implementation, identity.device_model,
               identity.driver.empty() ? "none" : identity.driver,
               evidence.batch.empty() ? kNoBatch : evidence.batch, evidence.mode,
               std::to_string(evidence.cases), evidence.stored,
               identity.code.substr(0, identity.code.find(':') + 1 + kShortKey)});
  }
  if (!all.empty()) console.out << table.text(console.out_colour, 0);
  console.out << all.size() << " in " << store.directory() << '\n';
  return ExitCode::kPassed;
}

ExitCode show(const suite::EvidenceStore& store, const Flags& flags, const Console& console) {
  const std::string& prefix = flags.words[1];
  std::vector<Evidence> matching;
  for (Evidence& evidence : store.list()) {
    if (evidence.identity.key().starts_with(prefix)) matching.push_back(std::move(evidence));
  }
  if (matching.empty()) {
    fail(Code::kNotFound,
         "no evidence has a key that begins with '{}'; `kw evidence list` has them", prefix);
  }
  if (flags.json) {
    print_json(matching, console);
    return ExitCode::kPassed;
  }
  for (const Evidence& evidence : matching) {
    Table table({"", ""});
    for (const auto& [name, value] : facts_of(evidence)) table.add({name, value});
    for (const suite::PassedProblem& each : evidence.problems)
      table.add({"passed", each.problem + ", which runs " + each.specialization});
    console.out << table.text(console.out_colour, 0);
    if (&evidence != &matching.back()) console.out << '\n';
  }
  return ExitCode::kPassed;
}

ExitCode run_evidence(const Flags& flags, Console& console) {
  const suite::EvidenceStore store = evidence_store();
  const std::string action = flags.words.empty() ? "" : flags.words.front();
  if (action == "list" && flags.words.size() == 1) return list(store, flags, console);
  if (action == "show" && flags.words.size() == 2) return show(store, flags, console);
  fail(
      Code::kInvalidArgument,
      "kw evidence {}: write `kw evidence list`, or `kw evidence show KEY` with the beginning of a "
      "key",
      join(flags.words, " "));
}

}  // namespace

Command evidence_command() {
  return {"evidence",
          "which implementations passed numerics, and where",
          "list | show KEY",
          {Flag::kJson},
          true,
          run_evidence};
}

}  // namespace kw::cli
