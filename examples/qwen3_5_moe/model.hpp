// SPDX-License-Identifier: Apache-2.0
// The decoder: byte embedding, layers of mixer and sparse feed-forward, final norm, output head.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "qwen3_5_moe/attention.hpp"
#include "qwen3_5_moe/gated_delta_net.hpp"
#include "qwen3_5_moe/moe.hpp"

namespace qwen3_5_moe {

struct DecoderLayer {
  RmsNorm input_layernorm;
  std::optional<GatedDeltaNet> linear_attn;  // exactly one of the two mixers
  std::optional<Attention> self_attn;
  RmsNorm post_attention_layernorm;
  SparseMoe mlp;

  DecoderLayer(const Config& config, std::int64_t layer, Initializer& init);
  Tensor forward(const Tensor& hidden, const RotaryTable& rotary,
                 std::vector<Tensor>& router_logits) const;
};

struct CausalLmOutput {
  Tensor logits;                      // [T, vocab]
  std::vector<Tensor> router_logits;  // per layer, [T, E]
  float loss = 0.0F;                  // next-byte cross entropy, in nats
  float aux_loss = 0.0F;              // load balancing, before its coefficient
};

struct Model {
  Config config;
  Tensor embed_tokens;  // [vocab, H]
  std::vector<DecoderLayer> layers;
  RmsNorm norm;
  Tensor lm_head;  // [vocab, H]

  explicit Model(const Config& config) : Model(config, Initializer(config.seed)) {}
  // One sequence of at least one byte; labels are the bytes themselves.
  CausalLmOutput forward(std::span<const std::uint8_t> bytes) const;

 private:
  Model(const Config& config, Initializer init);
};

}  // namespace qwen3_5_moe
