// SPDX-License-Identifier: Apache-2.0
// One more operation of tests, which uses what the others leave out: dtype symbols of two levels,
// accumulators, variants with their own parameters, output groups, saved outputs, products of
// symbols, a required integer, and scalars of every kind. And implementations that watch workspace.
#pragma once

#include <optional>

#include "kernelwright/core/catalog.hpp"

namespace kw::toy {

enum class Edge : int { kWrap, kClamp, kZero };

struct BlendArgs {
  TensorView x;          // [*, C]
  TensorView weight;     // [C]; only in weighted
  TensorView label;      // [*]; optional
  TensorView table;      // [K*G, 2*C+1]; optional
  TensorView y;          // [*, C], as x or f32
  TensorView low, high;  // [*], group "bounds"
  TensorView rstd;       // [*], saved
  double eps = 1e-6;
  std::optional<double> gain;  // 1 / C
  std::optional<std::int64_t> window;
  std::int64_t G = 0;  // required
  double sharpness = 0.5;
  bool flip = false;
  Edge edge = Edge::kClamp;

  void visit(Recorder& v);
  static const Contract& contract();
};

// An address that nobody reads, and a small call on three of them.
void* at(std::int64_t offset);
BlendArgs small_blend();

// "cpu.plain.blend": an empty launch, for text, keys and time.
Implementation plain_blend();

// The toys of toy_operations.hpp and blend.
std::unique_ptr<Catalog> make_full_catalog();

// Third parties for "scale" and "affine", to register before the catalog freezes:
// "cpu.careful.scale" needs 192 zeroed bytes and C floats, fails unless the zeros are zero, and
// scribbles over the rest; "cpu.nested.scale" is composed of affine with own scratch;
// "cpu.cyclic.scale" is composed of itself; "cpu.buffered.affine" is composed like the in-tree one
// with own scratch; "cpu.greedy.affine" wrongly asks for zeroed bytes of its own.
void register_watchful(Catalog& catalog);

// The status code of a launch that found its workspace wrong.
inline constexpr StatusCode kBadWorkspace = StatusCode::kInternal;

}  // namespace kw::toy
