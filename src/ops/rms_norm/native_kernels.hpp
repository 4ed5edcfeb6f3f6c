// SPDX-License-Identifier: Apache-2.0
// The CPU kernels of rms_norm and rms_norm_backward as plain calls. The caller has checked shapes
// and dtypes: x, dy, y, dx are [*, C] of one dtype T in {f32, f16, bf16}; weight and dweight are
// [C] of T or f32; rstd is a contiguous f32 [*]. Must not include core.
#pragma once

#include <cstdint>

#include "kernelwright/base/tensor.hpp"
#include "kernelwright/ops/rms_norm/cfg.hpp"

namespace kw::ops::rms_norm::native {

// Any strides, any alignment that suits the element type. Outputs overlap nothing.
struct ForwardCall {
  TensorView x;
  TensorView weight;
  TensorView y;
  TensorView rstd;  // optional output: r, not rounded
  float eps = 0;
  Variant variant = Variant::kStandard;
  int threads = 1;
};

// Gradients of the unrounded formula: xh = x r, m = dy (w or 1 + w),
// dx = r (m - xh mean(m xh)), dweight = sum over rows of dy xh. dweight is written for zero rows
// too.
struct BackwardCall {
  TensorView dy;
  TensorView x;
  TensorView weight;
  TensorView rstd;     // optional input: recomputed from x, to the same bits, where absent
  TensorView dx;       // optional output
  TensorView dweight;  // optional output; absent for kUnweighted
  float eps = 0;
  Variant variant = Variant::kStandard;
  int threads = 1;
  // backward_workspace_bytes(rows, C) bytes, aligned to 4, any content; read only with dweight.
  void* workspace = nullptr;
};

bool isa_supported(Isa isa) noexcept;

// Deterministic: y, dx and rstd of a row depend on the row alone, dweight on the rows alone; never
// on threads, strides or position. The two instruction sets may differ in the last bit.
void forward(Isa isa, const ForwardCall& call) noexcept;
void backward(Isa isa, const BackwardCall& call) noexcept;

// Does not decrease with rows.
std::int64_t backward_workspace_bytes(std::int64_t rows, std::int64_t hidden) noexcept;

}  // namespace kw::ops::rms_norm::native
