// SPDX-License-Identifier: Apache-2.0
#include "qwen3_5_moe/norm.hpp"

#include <cmath>

#include "kernelwright/ops/rms_norm/contract.hpp"
#include "qwen3_5_moe/probe.hpp"
#include "qwen3_5_moe/slots.hpp"

namespace qwen3_5_moe {

void rms_norm(const Tensor& x, const Tensor& weight, float eps, Tensor& y) {
  probe_call(kw_rms_norm, rms_norm, x, weight, eps, y);
  if (kw_rms_norm.bound())
    return kw_rms_norm(
        kw::ops::rms_norm::Args{.x = x.view(), .weight = weight.view(), .y = y.view(), .eps = eps});

  const std::int64_t rows = x.rows(), size = x.size(-1);
  const float* w = weight.data();
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* xr = x.row(r);
    float* yr = y.row(r);
    const float variance = dot(xr, xr, size) / static_cast<float>(size);
    const float rstd = 1.0F / std::sqrt(variance + eps);
    for (std::int64_t i = 0; i < size; ++i) yr[i] = xr[i] * rstd * (1.0F + w[i]);
  }
}

void rms_norm_gated(const Tensor& x, const Tensor& z, const Tensor& weight, float eps, Tensor& y) {
  probe_call(kw_rms_norm_gated, rms_norm_gated, x, z, weight, eps, y);

  const std::int64_t rows = x.rows(), size = x.size(-1);
  const float* w = weight.data();
#pragma omp parallel for schedule(static)
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* xr = x.row(r);
    const float* zr = z.row(r);
    float* yr = y.row(r);
    const float variance = dot(xr, xr, size) / static_cast<float>(size);
    const float rstd = 1.0F / std::sqrt(variance + eps);
    for (std::int64_t i = 0; i < size; ++i) yr[i] = w[i] * (xr[i] * rstd) * silu(zr[i]);
  }
}

Tensor RmsNorm::forward(const Tensor& x) const {
  Tensor y = empty_like(x);
  rms_norm(x, weight, eps, y);
  return y;
}

Tensor RmsNormGated::forward(const Tensor& x, const Tensor& z) const {
  Tensor y = empty_like(x);
  rms_norm_gated(x, z, weight, eps, y);
  return y;
}

}  // namespace qwen3_5_moe
