// SPDX-License-Identifier: Apache-2.0
// The linear-attention mixer: projections, short causal convolution, gated delta rule, gated norm.
// One sequence; tensors are [tokens, ...].
#pragma once

#include "qwen3_5_moe/config.hpp"
#include "qwen3_5_moe/norm.hpp"

namespace qwen3_5_moe {

// Depthwise: y[t, c] = silu(sum_i weight[c, i] * x[t - (W - 1) + i, c]), zeros before the sequence.
void causal_conv1d(const Tensor& x, const Tensor& weight, Tensor& y);

// query, key [T, H, Dk], L2-normalised inside; value, y [T, HV, Dv]; g (log decay <= 0) and beta
// [T, HV]. Value head h reads query and key head h / (HV / H).
void chunk_gated_delta_rule(const Tensor& query, const Tensor& key, const Tensor& value,
                            const Tensor& g, const Tensor& beta, Tensor& y);

struct GatedDeltaNet {
  std::int64_t num_key_heads, num_value_heads, key_dim, value_dim;
  Tensor in_proj_qkv, in_proj_z, in_proj_b, in_proj_a;
  Tensor conv1d_weight;   // [2 * key_dim + value_dim, W]
  Tensor a_log, dt_bias;  // [num_value_heads]
  RmsNormGated norm;
  Tensor out_proj;

  GatedDeltaNet(const Config& config, Initializer& init);
  Tensor forward(const Tensor& hidden) const;
};

}  // namespace qwen3_5_moe
