// SPDX-License-Identifier: Apache-2.0
// The operations that the self-test sabotages, one per class of tolerance. They are in no catalog
// but its own.
//   affine          y = x * gain + bias; total = sum of x over rows. Variant `one` rounds once,
//   `two`
//                   rounds the product first
//   affine_backward dx = dy * gain; dgain = sum of dy * x over rows; is also given `total`
//   gather          y[i] = x[index[i]], a movement
//   update          state = state + x, in place
#pragma once

#include "kernelwright/core/catalog.hpp"
#include "kernelwright/suite/selftest/sabotage.hpp"

namespace kw::suite {

struct AffineArgs {
  TensorView x, gain, y, total;
  double bias = 0.5;

  void visit(Recorder& v);
  static const Contract& contract();
};

struct AffineBackwardArgs {
  TensorView dy, x, gain, total, dx, dgain;
  double bias = 0.5;

  void visit(Recorder& v);
  static const Contract& contract();
};

struct GatherArgs {
  TensorView x, index, y;

  void visit(Recorder& v);
  static const Contract& contract();
};

struct UpdateArgs {
  TensorView state, x;

  void visit(Recorder& v);
  static const Contract& contract();
};

// cpu.toy.affine or cuda.toy.affine with this defect; declared deterministic and batch-invariant.
// On an EmulatedDevice its work is enqueued, elsewhere done at once.
Implementation probe_affine(Sabotage sabotage, DeviceKind device = DeviceKind::kCpu);

// All four with their references and an implementation each.
void add_probes(Catalog& catalog, Sabotage sabotage = Sabotage::kNone,
                DeviceKind device = DeviceKind::kCpu);

}  // namespace kw::suite
