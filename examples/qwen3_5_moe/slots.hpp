// SPDX-License-Identifier: Apache-2.0
// The replaceable computations of this model: grep for `kw_` finds each of them. Unbound they cost
// one branch and the eager body runs.
#pragma once

#include "kernelwright/core/slot.hpp"

namespace qwen3_5_moe {

extern constinit kw::OpSlot kw_rms_norm;
extern constinit kw::OpSlot kw_moe_experts;
extern constinit kw::OpSlot kw_causal_lm_loss;
extern constinit kw::OpSlot kw_load_balancing_loss;
extern constinit kw::OpSlot kw_rms_norm_gated;
extern constinit kw::OpSlot kw_causal_conv1d;
extern constinit kw::OpSlot kw_chunk_gated_delta_rule;

// All of the above, to bind in one step.
kw::SlotSet& model_slots();

}  // namespace qwen3_5_moe
