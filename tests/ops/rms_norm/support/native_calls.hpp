// SPDX-License-Identifier: Apache-2.0
// Calls of the CPU kernels of rms_norm and rms_norm_backward on tensors of any layout, and the
// fixture that makes them on each instruction set.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernelwright/ops/rms_norm/native_kernels.hpp"
#include "ops/rms_norm/support/canary_tensor.hpp"

namespace kw::ops::rms_norm::native {

inline constexpr float kEps = 1e-6F;

struct Case {
  DType x = DType::kBF16, weight = DType::kBF16;
  Variant variant = Variant::kStandard;
};

inline std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const DType x : {DType::kBF16, DType::kF16, DType::kF32}) {
    for (const DType weight : {x, DType::kF32}) {
      for (const int variant : {0, 1, 2, 3})
        cases.push_back({x, weight, static_cast<Variant>(variant)});
      if (x == DType::kF32) break;
    }
  }
  return cases;
}

inline std::string text(const Case& c, std::int64_t rows, std::int64_t hidden) {
  return std::string(dtype_name(c.x)) + " weight " + std::string(dtype_name(c.weight)) +
         " variant " + std::to_string(static_cast<int>(c.variant)) + " " + std::to_string(rows) +
         "x" + std::to_string(hidden);
}

inline ForwardCall forward_call(const Case& c, const Tensor& x, const Tensor& weight,
                                const Tensor& y, const Tensor* rstd = nullptr, int threads = 2) {
  ForwardCall call;
  call.x = x.view;
  if (c.variant != Variant::kUnweighted) call.weight = weight.view;
  call.y = y.view;
  if (rstd != nullptr) call.rstd = rstd->view;
  call.eps = kEps;
  call.variant = c.variant;
  call.threads = threads;
  return call;
}

struct Backward {
  BackwardCall call;
  std::vector<float> workspace;

  Backward(const Case& c, const Tensor& dy, const Tensor& x, const Tensor& w, const Tensor* rstd,
           const Tensor* dx, const Tensor* dweight, int threads = 2) {
    call.dy = dy.view;
    call.x = x.view;
    if (c.variant != Variant::kUnweighted) call.weight = w.view;
    if (rstd != nullptr) call.rstd = rstd->view;
    if (dx != nullptr) call.dx = dx->view;
    if (dweight != nullptr && c.variant != Variant::kUnweighted) call.dweight = dweight->view;
    call.eps = kEps;
    call.variant = c.variant;
    call.threads = threads;
    const std::int64_t bytes = backward_workspace_bytes(x.rows(), x.columns());
    workspace.assign(static_cast<std::size_t>(bytes / 4 + 16),
                     std::numeric_limits<float>::quiet_NaN());
    call.workspace = workspace.data();
  }
  bool workspace_kept() const {  // the 16 floats past its end
    return std::all_of(workspace.end() - 16, workspace.end(),
                       [](float v) { return std::isnan(v); });
  }
};

// Contiguous operands of both operations, inputs filled.
struct Operands {
  Case c;
  Tensor x, dy, w, y, dx, dweight, rstd;

  Operands(const Case& c_, std::int64_t rows, std::int64_t hidden)
      : c(c_),
        x(c.x, {rows, hidden}),
        dy(c.x, {rows, hidden}),
        w(c.weight, {hidden}),
        y(c.x, {rows, hidden}),
        dx(c.x, {rows, hidden}),
        dweight(c.weight, {hidden}),
        rstd(DType::kF32, {rows, 1}) {
    fill(x, dy, w);
  }
  static void fill(Tensor& x, Tensor& dy, Tensor& w) {
    x.fill(-3, 3, 1);
    dy.fill(-1, 1, 5);
    w.fill(-1.5, 1.5, 2);
  }
  ForwardCall forward(int threads = 2) const { return forward_call(c, x, w, y, &rstd, threads); }
  Backward backward(int threads = 2) const {
    return Backward(c, dy, x, w, nullptr, &dx, &dweight, threads);
  }
};

class NativeKernels : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!isa_supported(GetParam())) {
      GTEST_SKIP() << "this processor has no AVX-512 (F, BW, CD, DQ, VL)";
    }
  }
  void run(const ForwardCall& call) const { forward(GetParam(), call); }
  void run(const BackwardCall& call) const { backward(GetParam(), call); }
};

inline std::string isa_name(const testing::TestParamInfo<Isa>& isa) {
  return isa.param == Isa::kAvx2 ? "Avx2" : "Avx512";
}

}  // namespace kw::ops::rms_norm::native
