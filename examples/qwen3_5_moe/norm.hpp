// SPDX-License-Identifier: Apache-2.0
// The two normalisations of the model. Both take rows of any stride.
#pragma once

#include "qwen3_5_moe/initializer.hpp"
#include "qwen3_5_moe/tensor.hpp"

namespace qwen3_5_moe {

// y = x * rsqrt(mean(x^2) + eps) * (1 + weight): weights are centred on zero.
void rms_norm(const Tensor& x, const Tensor& weight, float eps, Tensor& y);

// y = weight * x * rsqrt(mean(x^2) + eps) * silu(z): weights are centred on one, the gate comes
// last.
void rms_norm_gated(const Tensor& x, const Tensor& z, const Tensor& weight, float eps, Tensor& y);

struct RmsNorm {
  Tensor weight;
  float eps;

  RmsNorm(std::int64_t size, float eps_in, Initializer& init)
      : weight(init.normal({size}, 0.1F)), eps(eps_in) {}
  Tensor forward(const Tensor& x) const;
};

struct RmsNormGated {
  Tensor weight;
  float eps;

  RmsNormGated(std::int64_t size, float eps_in, Initializer& init)
      : weight(init.uniform({size}, 0.8F, 1.2F)), eps(eps_in) {}
  Tensor forward(const Tensor& x, const Tensor& z) const;
};

}  // namespace qwen3_5_moe
