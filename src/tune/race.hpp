// SPDX-License-Identifier: Apache-2.0
// Times candidates of one problem against one another: equal inputs, rotated buffers, rounds in
// which each has its turn, so that a drift of the machine meets all of them.
#pragma once

#include <memory>
#include <vector>

#include "kernelwright/runtime/stream.hpp"
#include "kernelwright/suite/buffer_sets.hpp"
#include "kernelwright/suite/runner.hpp"

namespace kw::tune {

struct RaceRule {
  int rounds = 15;
  // Those slower than the fastest by this factor run no further: after one round, and after
  // kScreenRounds. They keep the figure they have.
  double first_cut = 2, second_cut = 1.25;
};
inline constexpr int kScreenRounds = 3;

struct Lap {
  double ns = 0;  // median of a call; 0: none
  int samples = 0;
  std::string error;  // why there is none
};

// Device time of replayed graphs where the device has them, else wall time.
class Race {
 public:
  Race(const suite::Case& spec, const suite::Platform& platform);

  // Laps in the order of `runners`. Throws Error(kEnvironment) when the device is lost.
  std::vector<Lap> run(const std::vector<suite::TargetRunner*>& runners, const RaceRule& rule);

 private:
  struct Runner;
  void enter(Runner& runner);
  double sample(Runner& runner);

  const suite::Case& spec_;
  const suite::Platform& platform_;
  runtime::OwnedStream stream_;
  suite::BufferSets sets_;
  std::int64_t calls_;  // of a sample
  std::unique_ptr<runtime::Event> begin_, end_;
};

}  // namespace kw::tune
