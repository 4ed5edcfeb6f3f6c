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
#include "kernelwright/jit/plan.hpp"
#include "kernelwright/kit/shared/probe.hpp"
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

// What compiles their kernels for a device that is there; without, they are host code, enqueued on
// an EmulatedDevice and elsewhere done at once.
struct ProbeToolchain {
  jit::Toolchain* compiler = nullptr;  // borrowed
  std::string arch;
  jit::Session* session = nullptr;  // borrowed; null: this process's
};

// The kernel for a device, and the same on the host with arguments of host memory.
jit::Unit probe_unit(const kit::ProbeCfg& cfg, const std::string& arch);
void run_probe_on_host(const kit::ProbeCfg& cfg, const kit::ProbeArgs& args);

// cpu.toy.affine or cuda.toy.affine with this defect; declared deterministic and batch-invariant.
Implementation probe_affine(Sabotage sabotage, DeviceKind device = DeviceKind::kCpu);

// All four with their references and an implementation each.
void add_probes(Catalog& catalog, Sabotage sabotage = Sabotage::kNone,
                DeviceKind device = DeviceKind::kCpu, const ProbeToolchain& toolchain = {});

}  // namespace kw::suite
