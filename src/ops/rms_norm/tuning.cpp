// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/ops/rms_norm/contract.hpp"
#include "kernelwright/tune/search.hpp"

namespace kw::ops::rms_norm {

// Threads beyond powers of two are those of 7168 = 2^10 * 7 columns at one, two and four accesses a
// thread. Cache policies were slower in every pair of the hand sweep (docs/benchmarks.md).
std::vector<tune::SearchSpec> searches() {
  const tune::Axis threads{
      "threads_per_row", {"8", "16", "32", "64", "128", "224", "256", "448", "512", "896", "1024"}};
  const tune::Axis cluster{"cluster", {"1", "2", "4", "8"}};
  const tune::Axis reload{"reload", {"false", "true"}};
  const tune::Axis rows{"rows_per_block", {"1", "2", "4", "8", "16", "32"}};
  const tune::Axis unroll{"unroll", {"1", "2", "4"}};
  const tune::Axis hold{"hold", {"false", "true"}};
  const tune::Axis weights{"weights", {"registers", "shared", "memory"}};
  const tune::Axis blocks{"min_blocks", {"1", "2", "4", "8"}};
  return {
      {"cuda.jit.rms_norm",
       {"element", "hidden"},
       {{threads, cluster, reload, rows}, {unroll, blocks}},
       cuda_forward_geometry},
      {"cuda.jit.rms_norm_backward",
       {"element", "hidden", "want_dx", "want_dweight"},
       {{threads, cluster, reload, rows, {"stages", {"0", "2", "3", "4", "6"}}, hold},
        {unroll,
         {"prefetch", {"false", "true"}},
         blocks,
         weights,
         {"fill_first", {"false", "true"}}},
        {{"partials", {"66", "132", "264", "528", "1056"}}}},
       cuda_backward_geometry},
  };
}

}  // namespace kw::ops::rms_norm
