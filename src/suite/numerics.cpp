// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <set>

#include <fmt/core.h>

#include "kernelwright/suite/fuzz.hpp"
#include "kernelwright/suite/operand.hpp"
#include "kernelwright/suite/run.hpp"
#include "kernelwright/suite/runner.hpp"

namespace kw::suite {
namespace {

std::vector<Fill> fills_for(const NumericsRequest& request, const Problem& problem,
                            std::set<std::string>& visited) {
  if (!request.fills.empty()) {
    std::vector<Fill> fills;
    for (const std::string& name : request.fills) fills.push_back(parse_fill(name));
    return fills;
  }
  const bool full = request.problems.empty() && problem.rows() != 0 &&
                    visited.insert(type_signature(problem)).second;
  return full ? fill_catalogue() : std::vector<Fill>{Fill::kNormal};
}

class NumericsRun {
 public:
  NumericsRun(const NumericsRequest& request, const Platform& platform)
      : request_(request), platform_(platform) {}

  NumericsReport run() {
    for (const std::string& name : request_.fills) parse_fill(name);
    // Everything is bound and parsed before anything runs: a request that cannot be met runs
    // nothing.
    const std::vector<Target> targets = find_targets(request_, platform_);
    const double memory =
        request_.memory_bytes > 0
            ? request_.memory_bytes
            : 0.6 * static_cast<double>(platform_.device.memory_info().free_bytes);
    std::vector<std::unique_ptr<TargetRunner>> runners;
    std::vector<std::vector<Problem>> problems(targets.size());
    for (std::size_t t = 0; t < targets.size(); ++t) {
      runners.push_back(std::make_unique<TargetRunner>(targets[t], request_, platform_,
                                                       request_.repeats, memory));
      if (request_.class_checks) runners.back()->check_classes();
      if (!request_.fuzzing())
        problems[t] = find_problems(request_, platform_, *targets[t].operation->contract);
    }
    for (std::size_t t = 0; t < targets.size() && complete_; ++t) {
      CoverageTally coverage(targets[t], request_);
      if (request_.fuzzing())
        fuzz(*runners[t], *targets[t].operation->contract, coverage);
      else
        batch(*runners[t], problems[t], coverage);
      report_.coverage.push_back(coverage.take());
    }
    report_.header.complete = complete_;
    return std::move(report_);
  }

 private:
  void batch(TargetRunner& runner, const std::vector<Problem>& problems, CoverageTally& coverage) {
    std::set<std::string> visited;
    for (const Problem& problem : problems) {
      for (const Fill fill : fills_for(request_, problem, visited)) {
        if (index_++ % request_.shards != request_.shard) continue;
        if (is_interrupted()) return;
        add(runner, {problem, fill, request_.seed}, coverage);
      }
    }
  }

  void fuzz(TargetRunner& runner, const Contract& contract, CoverageTally& coverage) {
    std::vector<int> variants;
    for (const std::string& name : request_.variants)
      variants.push_back(contract.variant_index(name));
    const ProblemFuzzer fuzzer(contract, variants);
    const auto start = std::chrono::steady_clock::now();
    int run = 0;
    // A contract that admits one draw in a thousand must not loop for ever.
    const std::int64_t max_draws =
        request_.fuzz > 0 ? 1000 * std::int64_t{request_.fuzz} : std::int64_t{1} << 40;
    for (std::int64_t draw = 0; draw < max_draws; ++draw) {
      if (request_.fuzz > 0 && run >= request_.fuzz) return;
      const double elapsed =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (request_.fuzz_seconds > 0 && elapsed > request_.fuzz_seconds) return;
      // Seeds of shards and of equal requests with other seeds do not meet.
      const auto seed = (request_.seed << 32) +
                        static_cast<std::uint64_t>(draw * request_.shards + request_.shard);
      const std::optional<Case> spec = fuzz_case(fuzzer, seed);
      ++report_.fuzz_drawn;
      if (!spec) {
        ++report_.fuzz_illegal;
        continue;
      }
      if (!request_.dtype.empty() &&
          dtype_name(operands_of(spec->problem).front().spec.dtype) != request_.dtype)
        continue;
      if (!runner.accepts(spec->problem)) continue;
      if (is_interrupted()) return;
      ++run;
      add(runner, *spec, coverage);
    }
  }

  bool is_interrupted() {
    if (request_.interrupted && request_.interrupted()) complete_ = false;
    return !complete_;
  }

  void add(TargetRunner& runner, const Case& spec, CoverageTally& coverage) {
    CaseResult result = runner.run(spec);
    coverage.add(spec.problem, result);
    if (request_.progress) request_.progress(result);
    report_.cases.push_back(std::move(result));
  }

  const NumericsRequest& request_;
  const Platform& platform_;
  NumericsReport report_;
  std::int64_t index_ = 0;
  bool complete_ = true;
};

}  // namespace

NumericsReport run_numerics(const NumericsRequest& request, const Platform& platform) {
  HeaderDraft header("numerics", request, platform.device);
  NumericsReport report = NumericsRun(request, platform).run();
  const bool complete = report.header.complete;
  report.header =
      header.finish(request.fuzzing() ? fmt::format("fuzz of {} with seed {}",
                                                    request_subject(request), request.seed)
                                      : describe_request(request));
  report.header.complete = complete;
  return report;
}

}  // namespace kw::suite
