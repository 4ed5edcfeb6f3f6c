// SPDX-License-Identifier: Apache-2.0
// Host side of the CPU kernels of rms_norm and rms_norm_backward: turns a call into a plan, picks
// the kernel of the instruction set, spreads rows over threads.
#include "kernelwright/kit/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernelwright/ops/rms_norm/native_body.hpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "kernelwright/kit/cpu/cache.hpp"
#include "kernelwright/kit/cpu/element.hpp"
#include "kernelwright/kit/cpu/threads.hpp"
#include "kernelwright/ops/rms_norm/native_body.hpp"
#include "kernelwright/ops/rms_norm/native_kernels.hpp"
#include "kernelwright/ops/rms_norm/native_plan.hpp"

namespace kw::ops::rms_norm::native {
namespace {

using kit::Element;
using kit::element_of;

// Below this much traffic per thread a team costs more than it saves: a fork and join took 0.7 us
// on idle cores, in which one core moves about 10 kB of cached rows.
constexpr std::int64_t kBytesPerThread = 64 << 10;
// Traffic of one item of parallel_for in the forward, at least and at most: an item reads its first
// rows without writing meanwhile, and the last one of a call leaves threads without work.
constexpr std::int64_t kMinItemBytes = 256 << 10, kMaxItemBytes = 4 << 20;
constexpr std::int64_t kItemsPerThread = 16;
// Rows that are reduced together in the forward: as many as fit in a quarter of L1.
constexpr std::int64_t kForwardGroupBytes = 8 << 10;

constexpr std::int64_t kMaxChunks = 64;
constexpr std::int64_t kMinChunkRows = 32;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t padded(std::int64_t hidden) { return divide_up(hidden, kTile) * kTile; }

Rows rows_of(const TensorView& view) {
  if (!view.present()) return {};
  const auto rank = static_cast<std::size_t>(view.rank);
  return {view.data, RowLayout({view.sizes.data(), rank}, {view.strides.data(), rank})};
}

int team(int threads, std::int64_t bytes) {
  return static_cast<int>(std::min<std::int64_t>(
      std::max(threads, 1), std::max<std::int64_t>(bytes / kBytesPerThread, 1)));
}

// Whether outputs bypass the caches: they would not survive there until they are read.
bool exceeds_cache(std::int64_t bytes) { return bytes > kit::cpu::cache_share_bytes() / 2; }

// Of at most `group` rows, a power of two of them that fit into `bytes`.
int largest_group(int group, std::int64_t bytes, std::int64_t row_bytes) {
  while (group > 1 && group * row_bytes > bytes) group /= 2;
  return group;
}

// Every row starts at a cache line, which is a vector of any target.
bool aligned(const Rows& rows, std::int64_t element_bytes) {
  bool result = reinterpret_cast<std::uintptr_t>(rows.data) % 64 == 0;
  for (int d = 0; d < rows.layout.dims; ++d) {
    result = result && rows.layout.strides[d] * element_bytes % 64 == 0;
  }
  return result;
}

}  // namespace

bool isa_supported(Isa isa) noexcept { return kit::cpu::isa_supported(isa); }

void forward(Isa isa, const ForwardCall& call) noexcept {
  ForwardPlan plan;
  plan.x = rows_of(call.x);
  plan.y = rows_of(call.y);
  plan.rows = plan.x.layout.rows;
  plan.hidden = call.x.sizes[call.x.rank - 1];
  if (plan.rows * plan.hidden == 0) return;
  const bool weighted = call.variant != Variant::kUnweighted;
  if (weighted) plan.weight = rows_of(call.weight);
  plan.rstd = static_cast<float*>(call.rstd.data);
  plan.eps = default_nan(call.eps);
  const bool in_place =
      plan.x.layout.inner == 1 && plan.y.layout.inner == 1 && plan.weight.layout.inner == 1;

  const auto size = static_cast<std::int64_t>(dtype_bytes(call.x.dtype));
  const std::int64_t row_bytes = plan.hidden * size;
  const std::int64_t bytes = 2 * plan.rows * row_bytes;
  plan.group = largest_group(kMaxForwardGroup, kForwardGroupBytes, row_bytes);
  plan.aligned = aligned(plan.y, size);
  const RowsMode mode = !in_place              ? RowsMode::kStrided
                        : exceeds_cache(bytes) ? RowsMode::kStreamed
                                               : RowsMode::kCached;

  const Element x = element_of(call.x.dtype);
  const Element weight = weighted ? element_of(call.weight.dtype) : x;
  const ForwardRows kernel = isa == Isa::kAvx512
                                 ? N_AVX3::forward_kernel(x, weight, call.variant, mode)
                                 : N_AVX2::forward_kernel(x, weight, call.variant, mode);
  const int threads = team(call.threads, bytes);
  const std::int64_t item_bytes =
      std::clamp(bytes / (threads * kItemsPerThread), kMinItemBytes, kMaxItemBytes);
  const std::int64_t item =
      divide_up(std::max<std::int64_t>(item_bytes / (2 * row_bytes), 1), plan.group) * plan.group;
  kit::cpu::parallel_for(threads, divide_up(plan.rows, item), [&](std::int64_t i) {
    kernel(plan, i * item, std::min(plan.rows, (i + 1) * item));
  });
}

std::int64_t backward_workspace_bytes(std::int64_t rows, std::int64_t hidden) noexcept {
  const std::int64_t chunks = std::min(divide_up(rows, kMinChunkRows), kMaxChunks);
  return chunks * 3 * padded(hidden) * static_cast<std::int64_t>(sizeof(float));
}

void backward(Isa isa, const BackwardCall& call) noexcept {
  const bool dx = call.dx.present(), dw = call.dweight.present();
  BackwardPlan plan;
  plan.hidden = call.x.sizes[call.x.rank - 1];
  if ((!dx && !dw) || plan.hidden == 0) return;
  plan.dy = rows_of(call.dy);
  plan.x = rows_of(call.x);
  plan.dx = rows_of(call.dx);
  plan.dweight = rows_of(call.dweight);
  plan.rows = plan.x.layout.rows;
  const bool weighted = call.variant != Variant::kUnweighted;
  if (weighted) plan.weight = rows_of(call.weight);
  plan.rstd = static_cast<const float*>(call.rstd.data);
  plan.partials = static_cast<float*>(call.workspace);
  plan.width = padded(plan.hidden);
  plan.eps = default_nan(call.eps);
  // -0 is the neutral element of addition: 0 + -0 would lose a sign.
  plan.offset = call.variant == Variant::kQwen3_5 ? 1.0F : -0.0F;
  const bool in_place = plan.x.layout.inner == 1 && plan.dy.layout.inner == 1 &&
                        plan.dx.layout.inner == 1 && plan.weight.layout.inner == 1;

  const auto size = static_cast<std::int64_t>(dtype_bytes(call.x.dtype));
  const std::int64_t bytes = 3 * plan.rows * plan.hidden * size;
  plan.chunk_rows = std::max(kMinChunkRows, divide_up(plan.rows, kMaxChunks));
  plan.chunks = divide_up(plan.rows, plan.chunk_rows);
  // Blocks start at column 0, so stores are aligned only if every row is.
  const bool stream = dx && in_place && aligned(plan.dx, size) && exceeds_cache(bytes);

  const Element x = element_of(call.x.dtype);
  const Element weight = weighted ? element_of(call.weight.dtype) : x;
  const int threads = team(call.threads, bytes);
  const BackwardRows kernel = isa == Isa::kAvx512
                                  ? N_AVX3::backward_kernel(x, weight, weighted, dx, dw, stream)
                                  : N_AVX2::backward_kernel(x, weight, weighted, dx, dw, stream);
  kit::cpu::parallel_for(threads, plan.chunks, [&](std::int64_t i) { kernel(plan, i); });
  if (!dw) return;
  const Element dweight = element_of(call.dweight.dtype);
  const ReduceColumns reduce =
      isa == Isa::kAvx512 ? N_AVX3::reduce_kernel(x, dweight) : N_AVX2::reduce_kernel(x, dweight);
  const std::int64_t reduce_bytes = plan.chunks * 2 * plan.width * 4;
  kit::cpu::parallel_for(team(call.threads, reduce_bytes), plan.width / kTile, [&](std::int64_t i) {
    reduce(plan, i * kTile, std::min(plan.hidden, (i + 1) * kTile));
  });
}

}  // namespace kw::ops::rms_norm::native
