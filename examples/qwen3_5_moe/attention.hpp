// SPDX-License-Identifier: Apache-2.0
// The softmax-attention mixer: gated queries, per-head norms, partial rotary embedding, causal GQA.
// One sequence; tensors are [tokens, ...].
#pragma once

#include "qwen3_5_moe/config.hpp"
#include "qwen3_5_moe/norm.hpp"

namespace qwen3_5_moe {

// cos and sin of position * frequency, [tokens, rotary_dim / 2] each: the two halves of the usual
// duplicated layout are equal, so one is stored. The three position axes of the published model
// coincide for text, which makes its rotation this one.
struct RotaryTable {
  Tensor cos, sin;

  RotaryTable(const Config& config, std::int64_t tokens);
};

// Rotates pairs (j, j + R/2) of the first R = 2 * cos.size(-1) dimensions of x [T, heads, D], in
// place.
void apply_rotary_pos_emb(Tensor& x, const RotaryTable& rotary);

// softmax(q k^T / sqrt(D)) v over keys not after the query; query head h reads key head h / (Hq /
// Hk).
Tensor causal_attention(const Tensor& query, const Tensor& key, const Tensor& value);

struct Attention {
  std::int64_t num_heads, num_key_value_heads, head_dim;
  Tensor q_proj;  // [heads * 2 * head_dim, hidden]: a query and its output gate per head
  Tensor k_proj, v_proj;
  RmsNorm q_norm, k_norm;
  Tensor o_proj;

  Attention(const Config& config, Initializer& init);
  Tensor forward(const Tensor& hidden, const RotaryTable& rotary) const;
};

}  // namespace qwen3_5_moe
