// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/tune/run.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/suite/operand.hpp"
#include "kernelwright/tune/group.hpp"

namespace kw::tune {
namespace {

const SearchSpec* find_search(std::span<const SearchSpec> searches, const std::string& name) {
  const auto found = std::find_if(searches.begin(), searches.end(),
                                  [&](const auto& spec) { return spec.implementation == name; });
  return found == searches.end() ? nullptr : &*found;
}

std::vector<suite::Target> tunable_targets(const TuneRequest& request,
                                           const suite::Platform& platform,
                                           std::span<const SearchSpec> searches) {
  std::vector<suite::Target> targets = suite::find_targets(request, platform);
  std::erase_if(targets, [&](const suite::Target& target) {
    return find_search(searches, target.implementation->info.name) == nullptr;
  });
  if (!targets.empty()) return targets;
  std::vector<std::string> names;
  for (const SearchSpec& spec : searches) names.push_back(spec.implementation);
  fail(Code::kNotFound,
       "nothing that was asked for on {} has a search space; those that do: {} (--device chooses)",
       platform.device.name(), join(names));
}

// Why `problem` cannot be timed; "" when it can.
std::string objection_to(const suite::Target& target, const Problem& problem,
                         const suite::Platform& platform) {
  const auto rejection = target.implementation->functions.supports(
      target.implementation->self, problem, platform.device.hardware());
  if (rejection) return rejection->text;
  if (problem_bytes(problem) <= 0) return "it moves no bytes";
  const std::vector<suite::Operand> operands = suite::operands_of(problem);
  const bool mutates = std::any_of(operands.begin(), operands.end(), [](const auto& operand) {
    return operand.role == Role::kMutated;
  });
  return mutates ? "the call changes its inputs" : "";
}

struct Member {
  CfgPins when;
  std::vector<GroupProblem> problems;
};

CfgPins key_of(const SearchSpec& spec, const Geometry& formula) {
  CfgPins when;
  for (const std::string& key : spec.keys) {
    const auto fact = formula.parts.facts.find(key);
    if (fact == formula.parts.facts.end())
      fail(Code::kInternal, "the search space of {} has a key '{}', which is no fact of its Cfg",
           spec.implementation, key);
    when.insert(*fact);
  }
  return when;
}

class TuneRun {
 public:
  TuneRun(const TuneRequest& request, const suite::Platform& platform,
          std::span<const SearchSpec> searches)
      : request_(request),
        platform_(platform),
        searches_(searches),
        tuning_{request, platform, std::chrono::steady_clock::now()} {}

  std::vector<GroupOutcome> run() {
    // All of the request is understood before anything runs.
    struct Work {
      suite::Target target;
      const SearchSpec* spec;
      std::vector<Member> groups;
    };
    std::vector<Work> work;
    for (const suite::Target& target : tunable_targets(request_, platform_, searches_)) {
      const SearchSpec* spec = find_search(searches_, target.implementation->info.name);
      work.push_back({target, spec, groups_of(target, *spec)});
    }
    for (Work& part : work) {
      for (Member& group : part.groups) add(tune(part.target, *part.spec, std::move(group)));
    }
    return std::move(outcomes_);
  }

 private:
  std::vector<Member> groups_of(const suite::Target& target, const SearchSpec& spec) {
    std::vector<Member> groups;
    for (Problem& problem :
         suite::find_problems(request_, platform_, *target.operation->contract)) {
      if (std::string why = objection_to(target, problem, platform_); !why.empty()) {
        GroupOutcome outcome;
        outcome.implementation = spec.implementation;
        outcome.skipped = problem_text(problem) + ": " + why;
        add(std::move(outcome));
        continue;
      }
      const Hardware& hardware = platform_.device.hardware();
      Geometry formula = spec.describe(problem, hardware, {});
      spec.describe(problem, hardware, request_.pins);  // a wrong pin is a wrong request
      CfgPins when = key_of(spec, formula);
      auto group = std::find_if(groups.begin(), groups.end(),
                                [&](const Member& member) { return member.when == when; });
      if (group == groups.end()) group = groups.insert(group, Member{std::move(when), {}});
      group->problems.push_back({std::move(problem), std::move(formula)});
    }
    return groups;
  }

  GroupOutcome tune(const suite::Target& target, const SearchSpec& spec, Member group) {
    if (tuning_.out_of_time()) {
      GroupOutcome outcome;
      outcome.implementation = spec.implementation;
      outcome.when = std::move(group.when);
      outcome.skipped = fmt::format("the {} s of --max-seconds are spent", request_.max_seconds);
      return outcome;
    }
    GroupOutcome outcome =
        tune_group(tuning_, spec, target, std::move(group.when), std::move(group.problems));
    const Hardware& hardware = platform_.device.hardware();
    outcome.entry.implementation = spec.implementation;
    outcome.entry.capability = capability_text(hardware.kind, hardware.capability);
    outcome.entry.model = hardware.model;
    outcome.entry.when = outcome.when;
    outcome.entry.date = suite::utc_now().substr(0, 10);
    outcome.entry.revision = request_.revision;
    return outcome;
  }

  void add(GroupOutcome outcome) {
    if (request_.finished) request_.finished(outcome);
    outcomes_.push_back(std::move(outcome));
  }

  const TuneRequest& request_;
  const suite::Platform& platform_;
  std::span<const SearchSpec> searches_;
  const Tuning tuning_;
  std::vector<GroupOutcome> outcomes_;
};

}  // namespace

int TuneReport::exit_code() const noexcept {
  const auto any = [&](const auto& holds) {
    return std::any_of(groups.begin(), groups.end(), holds);
  };
  if (any([](const GroupOutcome& group) { return !group.failures.empty(); })) return 1;
  return any([](const GroupOutcome& group) { return group.skipped.empty(); }) ? 0 : 3;
}

TuneReport run_tune(const TuneRequest& request, const suite::Platform& platform,
                    std::span<const SearchSpec> searches) {
  suite::HeaderDraft header("tune", request, platform.device);
  TuneReport report;
  report.groups = TuneRun(request, platform, searches).run();
  report.header = header.finish(suite::describe_request(request));
  return report;
}

std::vector<std::string> record(const GroupOutcome& outcome, Table& table) {
  if (!outcome.skipped.empty()) return {};
  const auto is_same = [&](const Entry& entry) { return entry.same_key(outcome.entry); };
  if (outcome.cut_short && std::any_of(table.entries.begin(), table.entries.end(), is_same))
    return {};
  std::vector<std::string> lost = replace_entry(table, outcome.entry);
  const auto merged = std::find_if(table.entries.begin(), table.entries.end(), is_same);
  // Buckets of a former entry stay, and need what they were measured with.
  if (outcome.formula && merged->buckets.size() == outcome.entry.buckets.size())
    table.entries.erase(merged);
  return lost;
}

}  // namespace kw::tune
