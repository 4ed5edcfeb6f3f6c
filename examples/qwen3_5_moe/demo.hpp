// SPDX-License-Identifier: Apache-2.0
// The main job: the example decoder over the bytes of a text file, eager and bound, side by side.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>

namespace kw {
class Context;
}

namespace qwen3_5_moe {

// Relative paths start at the working directory; the defaults exist at the root of the repository.
struct DemoOptions {
  std::string text_path = "examples/qwen3_5_moe/corpus.txt";
  std::string config_path = "configs/qwen3_5_moe.yaml";
  std::map<std::string, std::string> overrides;  // operation -> implementation, before the file
  std::int64_t max_bytes = 1024;                 // the text is cut here; at least 2
  int repeats = 3;                               // timings are medians over as many runs
};

// Binds the model as the configuration and the environment say, on the CPU of this machine, and
// prints what was bound, the largest error and the time of each slot, and both losses. Returns 0 if
// the losses agree within f32 rounding and 1 if not. Throws kw::Error for a text or configuration
// that cannot be used.
int run_demo(const DemoOptions& options, std::ostream& out);

// The same with a selection made by the caller; config_path and overrides are not read.
int run_demo(const DemoOptions& options, kw::Context& context, std::ostream& out);

// How far apart two cross-entropy losses may be because of rounding alone. `bound_calls` results on
// the way to a logit are rounded in another order, each a sum of at most `terms` terms.
double allowed_loss_difference(double largest_logit, std::int64_t bound_calls, std::int64_t terms);

}  // namespace qwen3_5_moe
