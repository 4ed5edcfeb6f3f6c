// SPDX-License-Identifier: Apache-2.0
// An operation for tests of tuning: y = 3 * x on a fake CUDA device, in a time that its Cfg names.
//   facts      width, wide (width >= 64)
//   tree       threads
//   free       unroll, lanes.count
#pragma once

#include <functional>

#include "kernelwright/core/catalog.hpp"
#include "kernelwright/tune/search.hpp"

namespace kw::test {

struct ToyArgs {
  TensorView x, y;
  void visit(Recorder& v);
  static const Contract& contract();
};

struct ToyLanes {
  int count = 1;
  static constexpr void visit(auto& self, auto& v) { v("count", self.count); }
};

struct ToyCfg {
  int width = 0;
  bool wide = false;
  int threads = 64;
  int unroll = 1;
  ToyLanes lanes;

  static constexpr const char *kTreeFrom = "threads", *kFreeFrom = "unroll";

  static constexpr void visit(auto& self, auto& v) {
    v("width", self.width);
    v("wide", self.wide);
    v("threads", self.threads);
    v("unroll", self.unroll);
    v("lanes", self.lanes);
  }
};

// Buckets "few" (below 100 rows) and "many". Formula: threads 64, unroll 1, lanes 1; legal: threads
// a multiple of 32, unroll up to 8.
struct ToyBehaviour {
  // Nanoseconds of a call.
  std::function<double(const ToyCfg&, std::int64_t rows)> time = [](const ToyCfg&, std::int64_t) {
    return 1000.0;
  };
  std::function<bool(const ToyCfg&)> wrong = [](const ToyCfg&) { return false; };
  // Wrong only from this row on.
  std::int64_t wrong_from = 0;
  // Throws from prepare.
  std::function<bool(const ToyCfg&)> refused = [](const ToyCfg&) { return false; };
};

// The behaviour of every toy of this process; reset by add_toy.
ToyBehaviour& toy_behaviour();

// toy with cuda.jit.toy and its reference.
void add_toy(Catalog& catalog);
tune::SearchSpec toy_search();

}  // namespace kw::test
