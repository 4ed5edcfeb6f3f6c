// SPDX-License-Identifier: Apache-2.0
// The two things the suite does, for the command line and for bindings: judge, and time what
// passed.
#pragma once

#include <functional>
#include <vector>

#include "kernelwright/suite/protocol.hpp"
#include "kernelwright/suite/report.hpp"

namespace kw::suite {

struct NumericsRequest : Request {
  // Fills by name. Empty: every problem with `normal`, and the whole catalogue for the first
  // problem of each operation, variant and choice of dtypes.
  std::vector<std::string> fills;
  int repeats = kDefaultRepeats;
  bool class_checks = true;  // streams, graphs, threads, soak: one case per class
  int fuzz = 0;              // random problems per target, instead of the batch
  double fuzz_seconds = 0;   // > 0: stop drawing after this long; with fuzz == 0 the only bound
  double memory_bytes = 0;   // cases that need more are skipped; 0: 60 % of what is free
  std::function<void(const CaseResult&)> progress;  // after every case

  bool fuzzing() const noexcept { return fuzz > 0 || fuzz_seconds > 0; }
};

// Throws Error for a request that names what does not exist, or that the environment overrides;
// everything later becomes the status of a case.
NumericsReport run_numerics(const NumericsRequest& request, const Platform& platform);

struct BenchRequest : Request {
  BenchRequest() { batch = "bench"; }
  std::vector<Protocol> protocols;  // empty: all that the device has but `eager_cold`
  std::string fill = "normal";
  int warmup = 3;
  int iterations = 0;         // > 0: exactly so many samples, no stopping rule
  double confidence = 0.005;  // stop when the median is known to +- this share ...
  int min_samples = 20;       // ... and so many samples are there
  double max_seconds = 2;     // per figure and problem
  std::function<void(const BenchRow&)> progress;
};

BenchReport run_bench(const BenchRequest& request, const Platform& platform);

}  // namespace kw::suite
