// SPDX-License-Identifier: Apache-2.0
// The two training losses. Each writes a scalar, a tensor of shape [1].
#pragma once

#include <vector>

#include "qwen3_5_moe/tensor.hpp"

namespace qwen3_5_moe {

// Labels that do not enter the loss.
inline constexpr std::int64_t kIgnoreIndex = -100;

// Mean over t of logsumexp(logits[t]) - logits[t, labels[t + 1]]; labels [T] i64 are shifted here.
// The last position and ignored labels do not count; with none left the loss is 0.
void causal_lm_loss(const Tensor& logits, const Tensor& labels, Tensor& loss);

// E / N^2 * sum_e count_e * P_e over the rows of all layers together: count_e rows chose expert e
// among their top_k, P_e is the sum of its probabilities. A balanced router gives top_k.
void load_balancing_loss(const std::vector<Tensor>& router_logits, std::int64_t top_k,
                         Tensor& loss);

}  // namespace qwen3_5_moe
