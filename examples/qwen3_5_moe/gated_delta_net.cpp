// SPDX-License-Identifier: Apache-2.0
#include "qwen3_5_moe/gated_delta_net.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "qwen3_5_moe/probe.hpp"
#include "qwen3_5_moe/slots.hpp"

namespace qwen3_5_moe {
namespace {

void l2norm(const float* x, std::int64_t n, float scale, float* y) {
  const float factor = scale / std::sqrt(dot(x, x, n) + 1e-6F);
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
}

}  // namespace

void causal_conv1d(const Tensor& x, const Tensor& weight, Tensor& y) {
  probe_call(kw_causal_conv1d, causal_conv1d, x, weight, y);

  const std::int64_t tokens = x.size(0), channels = x.size(1), width = weight.size(1);
  const float* w = weight.data();
#pragma omp parallel for schedule(static)
  for (std::int64_t t = 0; t < tokens; ++t) {
    float* yt = y.row(t);
    std::fill_n(yt, channels, 0.0F);
    for (std::int64_t i = std::max<std::int64_t>(0, width - 1 - t); i < width; ++i) {
      const float* xt = x.row(t - (width - 1) + i);
      for (std::int64_t c = 0; c < channels; ++c) yt[c] += w[c * width + i] * xt[c];
    }
    for (std::int64_t c = 0; c < channels; ++c) yt[c] = silu(yt[c]);
  }
}

void chunk_gated_delta_rule(const Tensor& query, const Tensor& key, const Tensor& value,
                            const Tensor& g, const Tensor& beta, Tensor& y) {
  probe_call(kw_chunk_gated_delta_rule, chunk_gated_delta_rule, query, key, value, g, beta, y);

  const std::int64_t tokens = value.size(0), heads = value.size(1), dv = value.size(2);
  const std::int64_t dk = key.size(2), group = heads / key.size(1);
  const float scale = 1.0F / std::sqrt(static_cast<float>(dk));
#pragma omp parallel for schedule(static)
  for (std::int64_t h = 0; h < heads; ++h) {
    std::vector<float> state(static_cast<std::size_t>(dk * dv), 0.0F);  // [dk, dv]
    std::vector<float> q(dk), k(dk), delta(dv);
    for (std::int64_t t = 0; t < tokens; ++t) {
      l2norm(query.row(t * query.size(1) + h / group), dk, scale, q.data());
      l2norm(key.row(t * key.size(1) + h / group), dk, 1.0F, k.data());
      const float* v = value.row(t * heads + h);
      float* out = y.row(t * heads + h);

      // state *= exp(g);  delta = beta * (v - state^T k)
      const float decay = std::exp(g.row(t)[h]);
      std::fill(delta.begin(), delta.end(), 0.0F);
      for (std::int64_t i = 0; i < dk; ++i) {
        float* s = &state[i * dv];
        for (std::int64_t j = 0; j < dv; ++j) {
          s[j] *= decay;
          delta[j] += s[j] * k[i];
        }
      }
      for (std::int64_t j = 0; j < dv; ++j) delta[j] = beta.row(t)[h] * (v[j] - delta[j]);

      // state += k delta^T;  out = state^T q
      std::fill_n(out, dv, 0.0F);
      for (std::int64_t i = 0; i < dk; ++i) {
        float* s = &state[i * dv];
        for (std::int64_t j = 0; j < dv; ++j) {
          s[j] += k[i] * delta[j];
          out[j] += s[j] * q[i];
        }
      }
    }
  }
}

GatedDeltaNet::GatedDeltaNet(const Config& config, Initializer& init)
    : num_key_heads(config.linear_num_key_heads),
      num_value_heads(config.linear_num_value_heads),
      key_dim(config.linear_key_dim()),
      value_dim(config.linear_value_dim()),
      in_proj_qkv(init.projection({2 * key_dim + value_dim, config.hidden_size})),
      in_proj_z(init.projection({value_dim, config.hidden_size})),
      in_proj_b(init.projection({num_value_heads, config.hidden_size})),
      in_proj_a(init.projection({num_value_heads, config.hidden_size})),
      conv1d_weight(init.projection({2 * key_dim + value_dim, config.linear_conv_kernel_dim})),
      a_log(init.uniform({num_value_heads}, -4.0F, 1.0F)),  // memories of 1 to 50 tokens
      dt_bias(init.uniform({num_value_heads}, 0.5F, 1.0F)),
      norm(config.linear_value_head_dim, config.rms_norm_eps, init),
      out_proj(init.projection({config.hidden_size, value_dim})) {}

Tensor GatedDeltaNet::forward(const Tensor& hidden) const {
  const std::int64_t tokens = hidden.size(0);
  const Tensor mixed_qkv = linear(hidden, in_proj_qkv);
  const Tensor z = linear(hidden, in_proj_z).split_last(num_value_heads);
  const Tensor b = linear(hidden, in_proj_b);
  const Tensor a = linear(hidden, in_proj_a);

  Tensor convolved = empty_like(mixed_qkv);
  causal_conv1d(mixed_qkv, conv1d_weight, convolved);
  const Tensor query = convolved.slice(-1, 0, key_dim).split_last(num_key_heads);
  const Tensor key = convolved.slice(-1, key_dim, key_dim).split_last(num_key_heads);
  const Tensor value = convolved.slice(-1, 2 * key_dim, value_dim).split_last(num_value_heads);

  Tensor beta = empty_like(b), g = empty_like(a);
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t h = 0; h < num_value_heads; ++h) {
      beta.row(t)[h] = sigmoid(b.row(t)[h]);
      g.row(t)[h] = -std::exp(a_log.data()[h]) * softplus(a.row(t)[h] + dt_bias.data()[h]);
    }
  }

  Tensor core = empty_like(z);
  chunk_gated_delta_rule(query, key, value, g, beta, core);
  return linear(norm.forward(core, z).reshape({tokens, value_dim}), out_proj);
}

}  // namespace qwen3_5_moe
