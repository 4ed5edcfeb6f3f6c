// SPDX-License-Identifier: Apache-2.0
// rms_norm and rms_norm_backward: what they mean. x is [*, C]; a row is one x[..., :].
//   r = 1 / sqrt(mean_C(x^2) + eps), x upcast before it is squared;  xh = x * r
// Nothing is subtracted and there is no bias. The order of rounding and weight belongs to the
// variant.
#pragma once

#include "kernelwright/core/catalog.hpp"
#include "kernelwright/ops/rms_norm/cfg.hpp"

namespace kw::jit {
struct Unit;
}
namespace kw::tune {
struct Geometry;
struct SearchSpec;
}  // namespace kw::tune

namespace kw::ops::rms_norm {

struct Args {
  TensorView x{};       // [*, C]
  TensorView weight{};  // [C]; absent in `unweighted`
  TensorView y{};       // [*, C], as x
  TensorView rstd{};    // [*], f32; optional: the reciprocal root mean square r, unrounded
  double eps = 1e-6;

  void visit(Recorder& v);
  static const Contract& contract();
};

// Gradients of the mathematics: intermediate roundings of the forward count as identity. With
// off = 1 in qwen3_5 (else 0), m = dy * (off + weight) (m = dy when unweighted):
//   dx = r * (m - xh * mean_C(m * xh)),  dweight = sum over rows of dy * xh, cast once at the end.
struct BackwardArgs {
  TensorView dy{};       // [*, C], as x; may be expanded (stride 0)
  TensorView x{};        // [*, C]
  TensorView weight{};   // [C]; absent in `unweighted`
  TensorView rstd{};     // [*], f32; optional: recomputed from x when absent
  TensorView dx{};       // [*, C], as x; optional
  TensorView dweight{};  // [C], as weight; optional
  double eps = 1e-6;

  void visit(Recorder& v);
  static const Contract& contract();
};

// Both operations with their ordered implementations.
std::vector<Operation> operations();
// The geometries that may be tried for their implementations.
std::vector<tune::SearchSpec> searches();

// The implementations of this folder; their rank stands in operations().
Implementation native_forward();
Implementation native_backward();
Implementation cuda_forward();
Implementation cuda_backward();
Implementation reference_forward();
Implementation reference_backward();

// What cuda.jit compiles for a problem of either operation on such a device. Nothing is compiled.
std::vector<jit::Unit> cuda_units(const Problem& problem, const Hardware& hardware);

// SearchSpec::describe of cuda.jit.
tune::Geometry cuda_forward_geometry(const Problem&, const Hardware&, const CfgPins&);
tune::Geometry cuda_backward_geometry(const Problem&, const Hardware&, const CfgPins&);

}  // namespace kw::ops::rms_norm
