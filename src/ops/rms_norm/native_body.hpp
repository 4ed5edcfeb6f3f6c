// SPDX-License-Identifier: Apache-2.0
// Row kernels of rms_norm and rms_norm_backward by element types, compiled once per Highway target
// by native_kernels.cpp. No threads, no dispatch on tensors, no allocation.
#if defined(KW_OPS_RMS_NORM_NATIVE_BODY) == defined(HWY_TARGET_TOGGLE)
#ifdef KW_OPS_RMS_NORM_NATIVE_BODY
#undef KW_OPS_RMS_NORM_NATIVE_BODY
#else
#define KW_OPS_RMS_NORM_NATIVE_BODY
#endif

#include "kernelwright/ops/rms_norm/native_backward_body.hpp"
#include "kernelwright/ops/rms_norm/native_forward_body.hpp"

HWY_BEFORE_NAMESPACE();
namespace kw::ops::rms_norm::native::HWY_NAMESPACE {

// kX, kW as values: weight is of x's format or f32.
struct Selection {
  Element x, weight;

  template <typename Use>
  auto visit(const Use& use) const {
    constexpr Element kF32 = Element::kF32, kF16 = Element::kF16, kBF16 = Element::kBF16;
    const bool same = weight == x;
    if (x == kBF16)
      return same ? use.template run<kBF16, kBF16>() : use.template run<kBF16, kF32>();
    if (x == kF16) return same ? use.template run<kF16, kF16>() : use.template run<kF16, kF32>();
    return use.template run<kF32, kF32>();
  }
};

struct UseForward {
  Variant variant;
  RowsMode mode;
  template <Element kX, Element kW>
  ForwardRows run() const {
    return select_forward<kX, kW>(variant, mode);
  }
};

struct UseBackward {
  bool weighted, dx, dw, stream;
  template <Element kX, Element kW>
  BackwardRows run() const {
    return select_backward<kX, kW>(weighted, dx, dw, stream);
  }
};

struct UseReduce {
  template <Element kX, Element kW>
  ReduceColumns run() const {
    return reduce_columns<kX, kW>;
  }
};

inline ForwardRows forward_kernel(Element x, Element weight, Variant variant, RowsMode mode) {
  return Selection{x, weight}.visit(UseForward{variant, mode});
}
inline BackwardRows backward_kernel(Element x, Element weight, bool weighted, bool dx, bool dw,
                                    bool stream) {
  return Selection{x, weight}.visit(UseBackward{weighted, dx, dw, stream});
}
inline ReduceColumns reduce_kernel(Element x, Element weight) {
  return Selection{x, weight}.visit(UseReduce{});
}

}  // namespace kw::ops::rms_norm::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard
