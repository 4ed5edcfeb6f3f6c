// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/tune/group.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/tune/pick.hpp"
#include "kernelwright/tune/race.hpp"
#include "kernelwright/tune/verify.hpp"

namespace kw::tune {
namespace {

constexpr double kOneStage = 1024, kOneStageQuick = 96;  // candidates that one stage may have
// Points of a product that are worth describing, at about 0.1 ms each, to see how many are legal.
constexpr double kMaxProduct = 20'000;
constexpr std::size_t kBeam = 3, kBeamQuick = 1;  // trees that go on to the next stage
// Elements of the largest tensor: every candidate is verified on so many, and the chosen one on
// more, so that every loop over rows turns.
constexpr std::int64_t kVerifyElements = 1 << 19, kFinalElements = 1 << 24;
constexpr RaceRule kRule{}, kQuickRule{7, 1.5, 1.1};

std::string pins_text(const CfgPins& pins) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : pins) parts.push_back(name + "=" + value);
  return join(parts, " ");
}

struct Trial {
  Geometry geometry;
  CfgPins pins;
  std::string id, tree;  // of the geometry without facts: the same in every problem
  std::unique_ptr<suite::TargetRunner> runner;
  double ns = 0;  // 0: not timed
  bool failed = false;
};

// The candidates of one problem.
struct Contest {
  Problem problem;
  Geometry formula;
  std::map<std::string, Trial> trials;  // by id
};

class Group {
 public:
  Group(const Tuning& tuning, const SearchSpec& spec, const suite::Target& target,
        std::vector<GroupProblem> problems)
      : tuning_(tuning), spec_(spec), target_(target) {
    for (GroupProblem& member : problems) {
      contests_.push_back({std::move(member.problem), std::move(member.formula), {}});
    }
    // The longest first.
    std::stable_sort(contests_.begin(), contests_.end(), [](const Contest& a, const Contest& b) {
      return a.problem.rows() > b.problem.rows();
    });
  }

  void search() {
    const auto stages = plan_stages();
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      if (stage > 0 && out_of_time()) return;
      std::set<std::string> trees;
      if (stage > 0) trees = leading_trees();
      for (Contest& contest : contests_) {
        run(contest, candidates(contest, stages[stage], stage == 0, trees));
      }
    }
  }

  // The geometry of every bucket; where the one that was picked fails on more rows, the next.
  void finish(GroupOutcome& outcome) {
    outcome.failures = failures_;
    outcome.cut_short = cut_short_;
    for (const Contest& contest : contests_) {
      const Trial& formula = contest.trials.at(id_of(contest.formula));
      if (formula.ns > 0 && !formula.failed) continue;
      outcome.skipped = "the formula's own geometry " +
                        std::string(formula.failed ? "fails" : "was not timed") + " on " +
                        problem_text(contest.problem);
      return;
    }
    for (;;) {
      const std::vector<std::string> names = bucket_names();
      const Buckets buckets = contest_buckets(names);
      const std::vector<std::size_t> picks = pick(buckets);
      if (picks.empty()) {
        outcome.skipped = "no tree has a candidate that passed in every bucket";
        outcome.failures = failures_;
        return;
      }
      std::map<std::string, const Contestant*> chosen;
      for (std::size_t i = 0; i < names.size(); ++i) chosen[names[i]] = &buckets[i][picks[i]];
      if (!all_pass(chosen)) continue;
      outcome.failures = failures_;
      report(chosen, outcome);
      return;
    }
  }

 private:
  static std::string id_of(const Geometry& geometry) { return pins_text(pins_of(geometry)); }

  bool out_of_time() {
    if (tuning_.out_of_time()) cut_short_ = true;
    return cut_short_;
  }
  // When time is out, nothing but the formula, which must be timed.
  bool may_begin(const Contest& contest, const std::string& id) {
    return id == id_of(contest.formula) || !out_of_time();
  }

  std::vector<std::vector<Axis>> plan_stages() const {
    std::vector<Axis> all;
    for (const auto& stage : spec_.stages) all.insert(all.end(), stage.begin(), stage.end());
    if (product_size(all, tuning_.request.pins) > kMaxProduct) return spec_.stages;
    const auto legal = static_cast<double>(expand_all(contests_.front(), {}, all).size());
    const bool one = legal <= (tuning_.request.quick ? kOneStageQuick : kOneStage);
    return one ? std::vector<std::vector<Axis>>{all} : spec_.stages;
  }

  std::vector<Geometry> expand_all(const Contest& contest, const CfgPins& base,
                                   const std::vector<Axis>& axes) const {
    return expand(spec_, contest.problem, tuning_.platform.device.hardware(), base, axes,
                  tuning_.request.pins);
  }

  std::vector<Geometry> candidates(const Contest& contest, const std::vector<Axis>& axes,
                                   bool first, const std::set<std::string>& trees) const {
    if (first) {
      std::vector<Geometry> all{contest.formula};  // which must be timed, should time run out
      for (Geometry& geometry : expand_all(contest, {}, axes)) all.push_back(std::move(geometry));
      return all;
    }
    std::map<std::string, const Trial*> bases;  // the fastest of every tree that goes on
    for (const auto& [id, trial] : contest.trials) {
      if (trial.ns == 0 || trees.count(trial.tree) == 0) continue;
      const Trial*& base = bases[trial.tree];
      if (base == nullptr || trial.ns < base->ns) base = &trial;
    }
    std::vector<Geometry> all;
    for (const auto& base : bases) {
      for (Geometry& geometry : expand_all(contest, base.second->pins, axes))
        all.push_back(std::move(geometry));
    }
    return all;
  }

  void run(Contest& contest, std::vector<Geometry> geometries) {
    std::vector<Trial*> fresh;
    for (Geometry& geometry : geometries) {
      std::string id = id_of(geometry);
      if (!may_begin(contest, id)) continue;
      const auto [entry, is_new] = contest.trials.try_emplace(id);
      if (!is_new) continue;
      Trial& trial = entry->second;
      trial.id = std::move(id);
      trial.tree = pins_text(geometry.parts.tree);
      trial.pins = pins_of(geometry);
      trial.geometry = std::move(geometry);
      fresh.push_back(&trial);
    }
    if (fresh.empty()) return;
    prepare(contest, fresh);
    verify(contest, fresh);
    std::erase_if(contest.trials, [](const auto& entry) {
      return entry.second.ns == 0 && !entry.second.failed && entry.second.runner == nullptr;
    });
    time(contest);
    for (auto& entry : contest.trials) entry.second.runner = nullptr;  // binaries stay in the cache
  }

  std::unique_ptr<suite::TargetRunner> bind(const Trial& trial) const {
    suite::Request request;
    request.pins = trial.pins;
    return std::make_unique<suite::TargetRunner>(target_, request, tuning_.platform, 2, 1e300);
  }

  // Compiles on every core; a failure shows again, with its message, when the trial is verified.
  // Those that may not begin lose their runner.
  void prepare(const Contest& contest, const std::vector<Trial*>& trials) {
    std::atomic<std::size_t> next{0}, done{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < trials.size(); i = next++) {
        if (!may_begin(contest, trials[i]->id)) {
          trials[i]->runner = nullptr;
        } else {
          try {
            trials[i]->runner->bound().prepare(contest.problem);
          } catch (const std::exception&) {
          }
        }
        ++done;
      }
    };
    for (Trial* trial : trials) trial->runner = bind(*trial);
    const std::string text = problem_text(contest.problem);
    std::vector<std::jthread> workers;
    const auto count =
        std::min<std::size_t>(std::max(1U, std::thread::hardware_concurrency()), trials.size());
    for (std::size_t i = 0; i < count; ++i) workers.emplace_back(work);
    while (done < trials.size()) {
      tuning_.say(fmt::format("{}: compiled {} of {}", text, done.load(), trials.size()));
      std::this_thread::sleep_for(std::chrono::milliseconds(done < trials.size() ? 50 : 0));
    }
  }

  // On the first rows of the group's longest problem that has these facts: a geometry is the same
  // kernel there.
  suite::Case case_for(const Contest& contest, std::int64_t elements) const {
    const auto longest = std::find_if(contests_.begin(), contests_.end(), [&](const Contest& c) {
      return c.formula.parts.facts == contest.formula.parts.facts;
    });
    return {first_rows(longest->problem, elements), suite::Fill::kNormal, tuning_.request.seed};
  }

  void verify(const Contest& contest, const std::vector<Trial*>& trials) {
    const suite::Case spec = case_for(contest, kVerifyElements);
    std::unique_ptr<Verifier> verifier;
    int done = 0;
    for (Trial* trial : trials) {
      if (!may_begin(contest, trial->id)) trial->runner = nullptr;
      if (trial->runner == nullptr) continue;
      tuning_.say(fmt::format("{}: verified {} of {}", problem_text(contest.problem), done++,
                              trials.size()));
      const auto known = verdicts_.find(trial->geometry.text);
      if (known != verdicts_.end()) {
        trial->failed = !known->second;
        continue;
      }
      if (verifier == nullptr) verifier = std::make_unique<Verifier>(spec, tuning_.platform);
      const Verdict verdict = verifier->verify(*trial->runner, trial->pins);
      if (!verdict.passed()) fail_trial(*trial, spec, verdict.reason, verdict.message);
      verdicts_[trial->geometry.text] = verdict.passed();
    }
  }

  // In every problem for which it is the same kernel.
  void fail_trial(const Trial& failed, const suite::Case& spec, suite::Reason reason,
                  const std::string& message) {
    for (Contest& contest : contests_) {
      for (auto& [id, trial] : contest.trials) {
        if (trial.geometry.text == failed.geometry.text) trial.failed = true;
      }
    }
    failures_.push_back(
        {std::string(suite::reason_name(reason)), message,
         suite::repro_line(spec, {.implementation = spec_.implementation,
                                  .device = suite::device_flag(tuning_.platform.device.hardware()),
                                  .pins = failed.pins})});
  }

  // All that are new, and beside them what they must beat: figures that decide come from one race.
  void time(Contest& contest) {
    const Trial* best = fastest(contest);
    std::vector<Trial*> runners;
    for (auto& [id, trial] : contest.trials) {
      if (trial.failed) continue;
      const bool slow = trial.ns > 0 && trial.ns > kRule.second_cut * best->ns;
      if (slow && id != id_of(contest.formula)) continue;
      if (trial.runner == nullptr) {
        trial.runner = bind(trial);
        trial.runner->bound().prepare(contest.problem);
      }
      runners.push_back(&trial);
    }
    if (runners.empty()) return;
    tuning_.say(fmt::format("{}: timing {}", problem_text(contest.problem), runners.size()));
    const suite::Case spec{contest.problem, suite::Fill::kNormal, tuning_.request.seed};
    std::vector<suite::TargetRunner*> targets;
    for (Trial* trial : runners) targets.push_back(trial->runner.get());
    const std::vector<Lap> laps =
        Race(spec, tuning_.platform).run(targets, tuning_.request.quick ? kQuickRule : kRule);
    for (std::size_t i = 0; i < laps.size(); ++i) {
      runners[i]->ns = laps[i].ns;
      if (!laps[i].error.empty())
        fail_trial(*runners[i], spec, suite::Reason::kDeviceError, "timing: " + laps[i].error);
    }
  }

  // Of the group's buckets, in the order of their numbers of rows.
  std::vector<std::string> bucket_names() const {
    std::vector<std::string> names;
    for (auto contest = contests_.rbegin(); contest != contests_.rend(); ++contest) {
      if (std::find(names.begin(), names.end(), contest->formula.bucket) == names.end())
        names.push_back(contest->formula.bucket);
    }
    return names;
  }

  // Geometries that were timed on every problem of a bucket; the cost is the geometric mean over
  // those of time by the problem's fastest.
  Buckets contest_buckets(const std::vector<std::string>& names) const {
    Buckets buckets;
    for (const std::string& name : names) {
      std::map<std::string, std::pair<int, Contestant>> found;
      int problems = 0;
      for (const Contest& contest : contests_) {
        if (contest.formula.bucket != name) continue;
        ++problems;
        const Trial* const best = fastest(contest);
        for (const auto& [id, trial] : contest.trials) {
          if (trial.failed || trial.ns == 0) continue;
          auto& [count, contestant] = found[id];
          ++count;
          contestant.id = id;
          contestant.tree = trial.tree;
          contestant.size = std::max(contestant.size, trial.geometry.size);
          contestant.formula = contestant.formula || id == id_of(contest.formula);
          contestant.cost += std::log(trial.ns / best->ns);
        }
      }
      std::vector<Contestant> bucket;
      for (auto& [id, entry] : found) {
        if (entry.first != problems) continue;
        entry.second.cost = std::exp(entry.second.cost / problems);
        bucket.push_back(std::move(entry.second));
      }
      buckets.push_back(std::move(bucket));
    }
    return buckets;
  }

  static const Trial* fastest(const Contest& contest) {
    const Trial* best = nullptr;
    for (const auto& [id, trial] : contest.trials) {
      if (trial.failed || trial.ns == 0) continue;
      if (best == nullptr || trial.ns < best->ns) best = &trial;
    }
    return best;
  }

  std::set<std::string> leading_trees() const {
    std::set<std::string> trees;
    for (const Contest& contest : contests_) {
      if (fastest(contest) == nullptr) return trees;
      trees.insert(pins_text(contest.formula.parts.tree));
    }
    const std::size_t beam = tuning_.request.quick ? kBeamQuick : kBeam;
    const std::vector<TreeCost> ranked = rank_trees(contest_buckets(bucket_names()));
    for (std::size_t i = 0; i < std::min(beam, ranked.size()); ++i) trees.insert(ranked[i].tree);
    return trees;
  }

  // The suite's whole case on many rows, once per Cfg.
  bool all_pass(const std::map<std::string, const Contestant*>& chosen) {
    bool passed = true;
    for (Contest& contest : contests_) {
      Trial& trial = contest.trials.at(chosen.at(contest.formula.bucket)->id);
      if (!confirmed_.insert(trial.geometry.text).second) continue;
      tuning_.say(problem_text(contest.problem) + ": confirming " + trial.geometry.text);
      const suite::Case spec = case_for(contest, kFinalElements);
      const suite::CaseResult result = bind(trial)->run(spec);
      if (result.status == suite::CaseStatus::kPassed) continue;
      fail_trial(trial, spec, result.reason, result.message);
      passed = false;
    }
    return passed;
  }

  void report(const std::map<std::string, const Contestant*>& chosen, GroupOutcome& outcome) const {
    outcome.formula = true;
    std::map<std::string, int> counts;
    for (const Contest& contest : contests_) {
      const std::string& bucket = contest.formula.bucket;
      const Trial& formula = contest.trials.at(id_of(contest.formula));
      const Trial& trial = contest.trials.at(chosen.at(bucket)->id);
      const Trial* best = fastest(contest);
      outcome.formula = outcome.formula && &formula == &trial;
      ProblemOutcome row;
      row.problem = problem_text(contest.problem);
      row.bucket = bucket;
      row.candidates = static_cast<int>(contest.trials.size());
      for (const auto& entry : contest.trials) row.timed += entry.second.ns > 0 ? 1 : 0;
      row.default_ms = formula.ns * 1e-6;
      row.chosen_ms = trial.ns * 1e-6;
      row.fastest_ms = best->ns * 1e-6;
      row.fastest = best->geometry.text;
      row.chosen = trial.geometry.text;
      outcome.entry.tree = trial.geometry.parts.tree;
      BucketChoice& choice = outcome.entry.buckets[bucket];
      choice.cfg = trial.geometry.parts.free;
      choice.ms += std::log(row.chosen_ms);  // of the mean, below
      choice.default_ms += std::log(row.default_ms);
      choice.problems.push_back(row.problem);
      ++counts[bucket];
      outcome.problems.push_back(std::move(row));
    }
    for (auto& [bucket, choice] : outcome.entry.buckets) {
      choice.ms = std::exp(choice.ms / counts[bucket]);
      choice.default_ms = std::exp(choice.default_ms / counts[bucket]);
    }
  }

  const Tuning& tuning_;
  const SearchSpec& spec_;
  const suite::Target& target_;
  std::vector<Contest> contests_;
  std::map<std::string, bool> verdicts_;  // by Cfg text: whether it passed
  std::set<std::string> confirmed_;       // Cfg texts
  std::vector<Failure> failures_;
  std::atomic<bool> cut_short_{false};
};

}  // namespace

GroupOutcome tune_group(const Tuning& tuning, const SearchSpec& spec, const suite::Target& target,
                        CfgPins when, std::vector<GroupProblem> problems) {
  GroupOutcome outcome;
  outcome.implementation = spec.implementation;
  outcome.when = std::move(when);
  Group group(tuning, spec, target, std::move(problems));
  group.search();
  group.finish(outcome);
  return outcome;
}

}  // namespace kw::tune
