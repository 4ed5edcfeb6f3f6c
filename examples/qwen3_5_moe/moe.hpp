// SPDX-License-Identifier: Apache-2.0
// The sparse feed-forward block: softmax router, swiglu experts, and a gated expert shared by all
// tokens.
#pragma once

#include <vector>

#include "qwen3_5_moe/config.hpp"
#include "qwen3_5_moe/initializer.hpp"

namespace qwen3_5_moe {

// The chosen experts of each token, best first (equal probabilities: lower index first), and their
// probabilities renormalised to sum 1.
struct Routing {
  Tensor logits;   // [T, E], before the softmax
  Tensor index;    // [T, K], i64
  Tensor weights;  // [T, K]
};

// y[t] = sum_s weights[t, s] * down[e] (silu(gate) * up), (gate, up) = gate_up[e] x[t], e =
// index[t, s]. gate_up [E, 2I, H] holds the gate rows first; down is [E, H, I].
void moe_experts(const Tensor& x, const Tensor& index, const Tensor& weights, const Tensor& gate_up,
                 const Tensor& down, Tensor& y);

// down (silu(gate x) * (up x)).
Tensor swiglu_mlp(const Tensor& x, const Tensor& gate, const Tensor& up, const Tensor& down);

struct SparseMoe {
  std::int64_t num_experts_per_tok;
  Tensor gate;                           // [E, H], the router
  Tensor experts_gate_up, experts_down;  // [E, 2I, H], [E, H, I]
  Tensor shared_gate, shared_up, shared_down;
  Tensor shared_expert_gate;  // [1, H]

  SparseMoe(const Config& config, Initializer& init);
  Routing route(const Tensor& hidden) const;
  // Appends the router logits of this layer for the auxiliary loss.
  Tensor forward(const Tensor& hidden, std::vector<Tensor>& router_logits) const;
};

}  // namespace qwen3_5_moe
