// SPDX-License-Identifier: Apache-2.0
#include "qwen3_5_moe/model.hpp"

#include <algorithm>
#include <cmath>

#include "qwen3_5_moe/loss.hpp"

namespace qwen3_5_moe {
namespace {

std::vector<DecoderLayer> make_layers(const Config& config, Initializer& init) {
  std::vector<DecoderLayer> layers;
  layers.reserve(static_cast<std::size_t>(config.num_hidden_layers));
  for (std::int64_t i = 0; i < config.num_hidden_layers; ++i) layers.emplace_back(config, i, init);
  return layers;
}

}  // namespace

DecoderLayer::DecoderLayer(const Config& config, std::int64_t layer, Initializer& init)
    : input_layernorm(config.hidden_size, config.rms_norm_eps, init),
      post_attention_layernorm(config.hidden_size, config.rms_norm_eps, init),
      mlp(config, init) {
  if (config.is_full_attention(layer)) {
    self_attn.emplace(config, init);
  } else {
    linear_attn.emplace(config, init);
  }
}

Tensor DecoderLayer::forward(const Tensor& hidden, const RotaryTable& rotary,
                             std::vector<Tensor>& router_logits) const {
  const Tensor normed = input_layernorm.forward(hidden);
  const Tensor mixed =
      self_attn ? self_attn->forward(normed, rotary) : linear_attn->forward(normed);
  const Tensor residual = add(hidden, mixed);
  return add(residual, mlp.forward(post_attention_layernorm.forward(residual), router_logits));
}

// The output head makes logits of standard deviation 1/2: an untrained loss of ln(vocab) + 1/8.
Model::Model(const Config& config_in, Initializer init)
    : config(config_in),
      embed_tokens(init.normal({config.vocab_size, config.hidden_size}, 1.0F)),
      layers(make_layers(config, init)),
      norm(config.hidden_size, config.rms_norm_eps, init),
      lm_head(init.normal({config.vocab_size, config.hidden_size},
                          0.5F / std::sqrt(static_cast<float>(config.hidden_size)))) {}

CausalLmOutput Model::forward(std::span<const std::uint8_t> bytes) const {
  const auto tokens = static_cast<std::int64_t>(bytes.size());
  Tensor hidden({tokens, config.hidden_size}), labels({tokens}, kw::DType::kI64);
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::copy_n(embed_tokens.row(bytes[t]), config.hidden_size, hidden.row(t));
    labels.data<std::int64_t>()[t] = bytes[t];
  }

  CausalLmOutput output;
  const RotaryTable rotary(config, tokens);
  for (const DecoderLayer& layer : layers) {
    hidden = layer.forward(hidden, rotary, output.router_logits);
  }
  output.logits = linear(norm.forward(hidden), lm_head);

  Tensor scalar({1});
  causal_lm_loss(output.logits, labels, scalar);
  output.loss = scalar.data()[0];
  load_balancing_loss(output.router_logits, config.num_experts_per_tok, scalar);
  output.aux_loss = scalar.data()[0];
  return output;
}

}  // namespace qwen3_5_moe
