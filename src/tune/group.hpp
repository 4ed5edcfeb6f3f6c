// SPDX-License-Identifier: Apache-2.0
// Private: the search over one group of problems.
#pragma once

#include <chrono>

#include "kernelwright/tune/run.hpp"

namespace kw::tune {

// What all groups share.
struct Tuning {
  const TuneRequest& request;
  const suite::Platform& platform;
  std::chrono::steady_clock::time_point start;

  bool out_of_time() const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    return request.max_seconds > 0 && spent.count() > request.max_seconds;
  }
  void say(const std::string& text) const {
    if (request.progress) request.progress(text);
  }
};

struct GroupProblem {
  Problem problem;
  Geometry formula;
};

// `problems` agree in the facts of `when`.
GroupOutcome tune_group(const Tuning& tuning, const SearchSpec& spec, const suite::Target& target,
                        CfgPins when, std::vector<GroupProblem> problems);

}  // namespace kw::tune
