// SPDX-License-Identifier: Apache-2.0
#include "qwen3_5_moe/loss.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "qwen3_5_moe/probe.hpp"
#include "qwen3_5_moe/slots.hpp"

namespace qwen3_5_moe {

void causal_lm_loss(const Tensor& logits, const Tensor& labels, Tensor& loss) {
  probe_call(kw_causal_lm_loss, causal_lm_loss, logits, labels, loss);

  const std::int64_t tokens = logits.size(0), vocab = logits.size(1);
  double sum = 0.0;
  std::int64_t count = 0;
  for (std::int64_t t = 0; t + 1 < tokens; ++t) {
    const std::int64_t label = labels.data<std::int64_t>()[t + 1];
    if (label == kIgnoreIndex) continue;
    const float* row = logits.row(t);
    const float largest = *std::max_element(row, row + vocab);
    float normaliser = 0.0F;
    for (std::int64_t v = 0; v < vocab; ++v) normaliser += std::exp(row[v] - largest);
    sum += static_cast<double>(largest + std::log(normaliser) - row[label]);
    ++count;
  }
  loss.data()[0] = count == 0 ? 0.0F : static_cast<float>(sum / static_cast<double>(count));
}

void load_balancing_loss(const std::vector<Tensor>& router_logits, std::int64_t top_k,
                         Tensor& loss) {
  probe_call(kw_load_balancing_loss, load_balancing_loss, router_logits, top_k, loss);

  const std::int64_t experts = router_logits.front().size(1);
  std::vector<double> count(experts, 0.0), mass(experts, 0.0);
  std::vector<float> probability(experts);
  std::vector<std::int64_t> order(experts);
  double rows = 0.0;
  for (const Tensor& layer : router_logits) {
    for (std::int64_t t = 0; t < layer.rows(); ++t) {
      std::copy_n(layer.row(t), experts, probability.begin());
      softmax(probability.data(), experts);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return probability[a] > probability[b];
      });
      for (std::int64_t s = 0; s < top_k; ++s) count[order[s]] += 1.0;
      for (std::int64_t e = 0; e < experts; ++e) mass[e] += static_cast<double>(probability[e]);
    }
    rows += static_cast<double>(layer.rows());
  }
  const double product = std::inner_product(count.begin(), count.end(), mass.begin(), 0.0);
  loss.data()[0] = rows == 0.0
                       ? 0.0F
                       : static_cast<float>(static_cast<double>(experts) * product / (rows * rows));
}

}  // namespace qwen3_5_moe
