// SPDX-License-Identifier: Apache-2.0
#include "qwen3_5_moe/attention.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace qwen3_5_moe {

RotaryTable::RotaryTable(const Config& config, std::int64_t tokens)
    : cos({tokens, config.rotary_dim() / 2}), sin(empty_like(cos)) {
  const std::int64_t half = cos.size(1);
  for (std::int64_t j = 0; j < half; ++j) {
    const double frequency =
        std::pow(config.rope_theta, -static_cast<double>(j) / static_cast<double>(half));
    for (std::int64_t t = 0; t < tokens; ++t) {
      const double angle = static_cast<double>(t) * frequency;
      cos.row(t)[j] = static_cast<float>(std::cos(angle));
      sin.row(t)[j] = static_cast<float>(std::sin(angle));
    }
  }
}

void apply_rotary_pos_emb(Tensor& x, const RotaryTable& rotary) {
  const std::int64_t heads = x.size(1), half = rotary.cos.size(1);
  for (std::int64_t r = 0; r < x.rows(); ++r) {
    float* row = x.row(r);
    const float* c = rotary.cos.row(r / heads);
    const float* s = rotary.sin.row(r / heads);
    for (std::int64_t j = 0; j < half; ++j) {
      const float first = row[j], second = row[j + half];
      row[j] = first * c[j] - second * s[j];
      row[j + half] = second * c[j] + first * s[j];
    }
  }
}

Tensor causal_attention(const Tensor& query, const Tensor& key, const Tensor& value) {
  const std::int64_t tokens = query.size(0), heads = query.size(1), dim = query.size(2);
  const std::int64_t kv_heads = key.size(1), group = heads / kv_heads;
  const float scale = 1.0F / std::sqrt(static_cast<float>(dim));
  Tensor out = empty_like(query);
  // Late queries see more keys: dynamic, so that the threads finish together.
#pragma omp parallel for schedule(dynamic, 16)
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::vector<float> weights(static_cast<std::size_t>(t + 1));
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t kv = h / group;
      const float* q = query.row(t * heads + h);
      for (std::int64_t s = 0; s <= t; ++s) {
        weights[s] = scale * dot(q, key.row(s * kv_heads + kv), dim);
      }
      softmax(weights.data(), t + 1);
      float* o = out.row(t * heads + h);
      std::fill_n(o, dim, 0.0F);
      for (std::int64_t s = 0; s <= t; ++s) {
        const float* v = value.row(s * kv_heads + kv);
#pragma omp simd
        for (std::int64_t d = 0; d < dim; ++d) o[d] += weights[s] * v[d];
      }
    }
  }
  return out;
}

Attention::Attention(const Config& config, Initializer& init)
    : num_heads(config.num_attention_heads),
      num_key_value_heads(config.num_key_value_heads),
      head_dim(config.head_dim),
      q_proj(init.projection({num_heads * 2 * head_dim, config.hidden_size})),
      k_proj(init.projection({num_key_value_heads * head_dim, config.hidden_size})),
      v_proj(init.projection({num_key_value_heads * head_dim, config.hidden_size})),
      q_norm(head_dim, config.rms_norm_eps, init),
      k_norm(head_dim, config.rms_norm_eps, init),
      o_proj(init.projection({config.hidden_size, num_heads * head_dim})) {}

Tensor Attention::forward(const Tensor& hidden, const RotaryTable& rotary) const {
  const Tensor query_and_gate = linear(hidden, q_proj).split_last(num_heads);
  const Tensor gate = query_and_gate.slice(-1, head_dim, head_dim);
  Tensor query = q_norm.forward(query_and_gate.slice(-1, 0, head_dim));
  Tensor key = k_norm.forward(linear(hidden, k_proj).split_last(num_key_value_heads));
  const Tensor value = linear(hidden, v_proj).split_last(num_key_value_heads);

  apply_rotary_pos_emb(query, rotary);
  apply_rotary_pos_emb(key, rotary);
  Tensor attended = causal_attention(query, key, value);

  for (std::int64_t r = 0; r < attended.rows(); ++r) {
    for (std::int64_t d = 0; d < head_dim; ++d) attended.row(r)[d] *= sigmoid(gate.row(r)[d]);
  }
  return linear(attended.reshape({hidden.size(0), num_heads * head_dim}), o_proj);
}

}  // namespace qwen3_5_moe
