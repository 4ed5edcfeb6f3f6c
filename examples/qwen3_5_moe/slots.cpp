// SPDX-License-Identifier: Apache-2.0
#include "qwen3_5_moe/slots.hpp"

namespace qwen3_5_moe {

constinit kw::OpSlot kw_rms_norm{"rms_norm", "qwen3_5"};
constinit kw::OpSlot kw_moe_experts{"moe_experts", "standard"};
constinit kw::OpSlot kw_causal_lm_loss{"cross_entropy_loss", "causal"};
constinit kw::OpSlot kw_load_balancing_loss{"load_balancing_loss", "standard"};
constinit kw::OpSlot kw_rms_norm_gated{"rms_norm_gated", "standard"};
constinit kw::OpSlot kw_causal_conv1d{"causal_conv1d", "standard"};
constinit kw::OpSlot kw_chunk_gated_delta_rule{"chunk_gated_delta_rule", "standard"};

kw::SlotSet& model_slots() {
  static kw::SlotSet slots{
      &kw_rms_norm,       &kw_moe_experts,   &kw_causal_lm_loss,        &kw_load_balancing_loss,
      &kw_rms_norm_gated, &kw_causal_conv1d, &kw_chunk_gated_delta_rule};
  return slots;
}

}  // namespace qwen3_5_moe
