// SPDX-License-Identifier: Apache-2.0
// Three operations that exist only in tests: lists and structured outputs, mutation with a hardware
// gate, and a composite. They prove that core, selection and CLI know no operator.
#pragma once

#include <memory>
#include <optional>

#include "kernelwright/core/catalog.hpp"

namespace kw::toy {

// total[C] = sum over tensors and rows of parts[i] [*, C]; scaled[i] = factor * parts[i].
struct SumListArgs {
  TensorList parts;
  TensorView total;
  TensorList scaled;
  TensorView peak;  // optional
  double factor = 2;
  std::optional<double> bias;  // defaults to 1 / C

  void visit(Recorder& v);
  static const Contract& contract();
};

// cache [B, S+1] is shifted left by one and x [B] appended; popped [B] is what fell out.
enum class Order : int { kFifo, kLifo };
struct PushArgs {
  TensorView x;
  TensorView cache;
  TensorView popped;
  Order order = Order::kFifo;
  std::int64_t times = 1;

  void visit(Recorder& v);
  static const Contract& contract();
};

// y = scale * x and y = x + shift; in place is allowed for shift.
struct ScaleArgs {
  TensorView x, y;
  double scale = 1;

  void visit(Recorder& v);
  static const Contract& contract();
};
struct ShiftArgs {
  TensorView x, y;
  double shift = 0;

  void visit(Recorder& v);
  static const Contract& contract();
};

// y = scale * x + shift, composed of the two above.
struct AffineArgs {
  TensorView x, y;
  double scale = 1, shift = 0;

  void visit(Recorder& v);
  static const Contract& contract();
};

// All five, f32 on the CPU, plus "cuda.fast.push" (capability 90) and "cuda.slow.push" (80) for a
// fake device, and "cpu.narrow.scale", which accepts C <= 64 and ranks first.
std::unique_ptr<Catalog> make_catalog();

// How often any implementation of "scale" was prepared; tests compare before and after.
int scale_prepares();

}  // namespace kw::toy
