// SPDX-License-Identifier: Apache-2.0
// Hyperparameters of the example decoder, under the names of the published Qwen3.5-MoE
// configuration. The values are those of a small model: the structure is faithful, the width is
// not.
#pragma once

#include <cstdint>

namespace qwen3_5_moe {

struct Config {
  std::int64_t vocab_size = 256;  // one token per byte
  std::int64_t hidden_size = 256;
  std::int64_t num_hidden_layers = 8;
  std::int64_t full_attention_interval = 4;  // layers 3, 7, ... attend; the others are delta nets
  float rms_norm_eps = 1e-6F;

  std::int64_t num_attention_heads = 4;
  std::int64_t num_key_value_heads = 2;
  std::int64_t head_dim = 64;
  float partial_rotary_factor = 0.25F;
  double rope_theta = 1e7;

  std::int64_t linear_num_key_heads = 2;
  std::int64_t linear_num_value_heads = 4;
  std::int64_t linear_key_head_dim = 64;
  std::int64_t linear_value_head_dim = 64;
  std::int64_t linear_conv_kernel_dim = 4;

  std::int64_t num_experts = 16;
  std::int64_t num_experts_per_tok = 4;
  std::int64_t moe_intermediate_size = 128;
  std::int64_t shared_expert_intermediate_size = 128;
  float router_aux_loss_coef = 0.001F;

  std::uint64_t seed = 20260821;  // of the weights

  bool is_full_attention(std::int64_t layer) const {
    return (layer + 1) % full_attention_interval == 0;
  }
  std::int64_t rotary_dim() const {
    return static_cast<std::int64_t>(static_cast<float>(head_dim) * partial_rotary_factor);
  }
  std::int64_t linear_key_dim() const { return linear_num_key_heads * linear_key_head_dim; }
  std::int64_t linear_value_dim() const { return linear_num_value_heads * linear_value_head_dim; }
};

}  // namespace qwen3_5_moe
