// SPDX-License-Identifier: Apache-2.0
// Runs recorded calls again, eager and bound on the same inputs, for time and largest error per
// slot.
#pragma once

#include <vector>

#include "qwen3_5_moe/probe.hpp"

namespace qwen3_5_moe {

// Wall time of one sweep over the calls of a slot.
struct SweepTime {
  double median_ms = 0.0;
  double spread = 0.0;  // width of the middle half of the sweeps, relative to the median
};

// Over all calls that one slot received in one forward pass.
struct SlotMeasurement {
  const kw::OpSlot* slot = nullptr;
  int calls = 0;
  bool is_bound = false;
  SweepTime eager{}, bound{};
  double max_error = 0.0;  // |bound - eager|, infinite if one of them is not finite

  // Other work on the machine can stretch a sweep a hundredfold; such times make no ratio.
  bool is_steady() const { return eager.spread <= 0.25 && bound.spread <= 0.25; }
};

// One entry per slot of the set, in its order. The set is bound on entry and unbound on return. The
// calls of one slot run one after the other, so that both modes find the caches alike. Each
// slot gets at least `repeats` sweeps, and cheap ones more.
std::vector<SlotMeasurement> measure_slots(std::vector<RecordedCall>& calls, kw::SlotSet& slots,
                                           int repeats);

// The largest |a - b|; infinite where either is not finite.
double max_difference(const Tensor& a, const Tensor& b);

}  // namespace qwen3_5_moe
