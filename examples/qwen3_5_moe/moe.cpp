// SPDX-License-Identifier: Apache-2.0
#include "qwen3_5_moe/moe.hpp"

#include <algorithm>
#include <numeric>

#include "qwen3_5_moe/probe.hpp"
#include "qwen3_5_moe/slots.hpp"

namespace qwen3_5_moe {
namespace {

// silu(gate) * up, elementwise over [N, I] views.
Tensor swiglu(const Tensor& gate, const Tensor& up) {
  Tensor product = empty_like(gate);
  for (std::int64_t r = 0; r < gate.rows(); ++r) {
    const float* pg = gate.row(r);
    const float* pu = up.row(r);
    float* out = product.row(r);
    for (std::int64_t i = 0; i < gate.size(-1); ++i) out[i] = silu(pg[i]) * pu[i];
  }
  return product;
}

}  // namespace

void moe_experts(const Tensor& x, const Tensor& index, const Tensor& weights, const Tensor& gate_up,
                 const Tensor& down, Tensor& y) {
  probe_call(kw_moe_experts, moe_experts, x, index, weights, gate_up, down, y);

  const std::int64_t tokens = x.size(0), hidden = x.size(1), top_k = index.size(1);
  const std::int64_t experts = gate_up.size(0), intermediate = down.size(2);
  std::fill_n(y.data(), y.numel(), 0.0F);
  for (std::int64_t e = 0; e < experts; ++e) {
    std::vector<std::int64_t> token_of;
    std::vector<float> weight_of;
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t s = 0; s < top_k; ++s) {
        if (index.row<std::int64_t>(t)[s] != e) continue;
        token_of.push_back(t);
        weight_of.push_back(weights.row(t)[s]);
      }
    }
    if (token_of.empty()) continue;

    const auto routed = static_cast<std::int64_t>(token_of.size());
    Tensor current({routed, hidden});
    for (std::int64_t r = 0; r < routed; ++r)
      std::copy_n(x.row(token_of[r]), hidden, current.row(r));
    const Tensor both = linear(current, gate_up.slice(0, e, 1).reshape({2 * intermediate, hidden}));
    const Tensor activated =
        swiglu(both.slice(-1, 0, intermediate), both.slice(-1, intermediate, intermediate));
    const Tensor result = linear(activated, down.slice(0, e, 1).reshape({hidden, intermediate}));
    for (std::int64_t r = 0; r < routed; ++r) {
      float* out = y.row(token_of[r]);
      for (std::int64_t i = 0; i < hidden; ++i) out[i] += result.row(r)[i] * weight_of[r];
    }
  }
}

Tensor swiglu_mlp(const Tensor& x, const Tensor& gate, const Tensor& up, const Tensor& down) {
  return linear(swiglu(linear(x, gate), linear(x, up)), down);
}

SparseMoe::SparseMoe(const Config& config, Initializer& init)
    : num_experts_per_tok(config.num_experts_per_tok),
      gate(init.projection({config.num_experts, config.hidden_size})),
      experts_gate_up(init.projection(
          {config.num_experts, 2 * config.moe_intermediate_size, config.hidden_size})),
      experts_down(
          init.projection({config.num_experts, config.hidden_size, config.moe_intermediate_size})),
      shared_gate(init.projection({config.shared_expert_intermediate_size, config.hidden_size})),
      shared_up(init.projection({config.shared_expert_intermediate_size, config.hidden_size})),
      shared_down(init.projection({config.hidden_size, config.shared_expert_intermediate_size})),
      shared_expert_gate(init.projection({1, config.hidden_size})) {}

Routing SparseMoe::route(const Tensor& hidden) const {
  const std::int64_t tokens = hidden.size(0), experts = gate.size(0), top_k = num_experts_per_tok;
  Routing routing{linear(hidden, gate), Tensor({tokens, top_k}, kw::DType::kI64),
                  Tensor({tokens, top_k})};
  std::vector<float> probability(experts);
  std::vector<std::int64_t> order(experts);
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::copy_n(routing.logits.row(t), experts, probability.begin());
    softmax(probability.data(), experts);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return probability[a] > probability[b];
    });
    float sum = 0.0F;
    for (std::int64_t s = 0; s < top_k; ++s) sum += probability[order[s]];
    for (std::int64_t s = 0; s < top_k; ++s) {
      routing.index.row<std::int64_t>(t)[s] = order[s];
      routing.weights.row(t)[s] = probability[order[s]] / sum;
    }
  }
  return routing;
}

Tensor SparseMoe::forward(const Tensor& hidden, std::vector<Tensor>& router_logits) const {
  const Routing routing = route(hidden);
  router_logits.push_back(routing.logits);
  Tensor routed = empty_like(hidden);
  moe_experts(hidden, routing.index, routing.weights, experts_gate_up, experts_down, routed);

  Tensor shared = swiglu_mlp(hidden, shared_gate, shared_up, shared_down);
  const Tensor shared_logit = linear(hidden, shared_expert_gate);
  for (std::int64_t t = 0; t < hidden.size(0); ++t) {
    const float share = sigmoid(shared_logit.row(t)[0]);
    for (std::int64_t i = 0; i < hidden.size(1); ++i) shared.row(t)[i] *= share;
  }
  return add(routed, shared);
}

}  // namespace qwen3_5_moe
