// SPDX-License-Identifier: Apache-2.0
// What the implementations of rms_norm specialise on. Freestanding: no std include, so that every
// toolchain can read it.
#pragma once

#include "kernelwright/kit/shared/cache_policy.hpp"
#include "kernelwright/kit/shared/cpu_isa.hpp"
#include "kernelwright/kit/shared/element.hpp"
#include "kernelwright/kit/shared/row_map.hpp"

namespace kw::ops::rms_norm {

// Semantics; the order is that of the contract.
enum class Variant : int { kStandard, kFp32, kQwen3_5, kUnweighted };
inline constexpr const char* kVariantNames[] = {"standard", "fp32", "qwen3_5", "unweighted"};

using kit::Element;
using kit::element_bytes;
using kit::kElementNames;

using kit::cpu::Isa;
inline constexpr const char* kIsaNames[] = {"avx2", "avx512"};

// cpu.native: one compiled kernel per (variant, element, weight, isa).
struct NativeCfg {
  Variant variant = Variant::kStandard;
  Element element = Element::kF32;
  Element weight = Element::kF32;
  Isa isa = Isa::kAvx2;
  int threads = 1;  // upper bound; results do not depend on it

  static constexpr void visit(auto& self, auto& v) {
    v("variant", self.variant, kVariantNames);
    v("element", self.element, kElementNames);
    v("weight", self.weight, kElementNames);
    v("isa", self.isa, kIsaNames);
    v("threads", self.threads);
  }
};

using kit::CachePolicy;
using kit::kCachePolicyNames;

constexpr int divide_up(int a, int b) { return (a + b - 1) / b; }
constexpr bool weighted(Variant variant) { return variant != Variant::kUnweighted; }

// How the columns of a row lie on threads. cuda.jit, both directions: a row is spread over
// `threads_per_row` threads of each of `cluster` blocks; every block takes one contiguous slice of
// `vectors` accesses a thread, access v of thread t at column ((rank * vectors + v) *
// threads_per_row + t) * width. The order of summation follows from this and nothing else: not from
// strides or alignment, so that a row gives the same bits wherever it lies.
struct RowTiling {
  int width;    // elements of one access: 16 bytes
  int vectors;  // accesses of a thread
  int slice;    // columns of one block, the last may have fewer
};

constexpr RowTiling row_tiling(const auto& cfg) {
  const int width = 16 / element_bytes(cfg.element);
  const int vectors = divide_up(cfg.hidden, width * cfg.threads_per_row * cfg.cluster);
  return {width, vectors, vectors * cfg.threads_per_row * width};
}

constexpr int block_threads(const auto& cfg) { return cfg.threads_per_row * cfg.rows_per_block; }

// cuda.jit.rms_norm. Static facts of the problem, then geometry.
struct CudaForwardCfg {
  Variant variant = Variant::kStandard;
  Element element = Element::kBF16;
  Element weight = Element::kBF16;
  int hidden = 0;
  bool want_rstd = false;
  int leading = 1;          // row dimensions left after joining, 1 .. kit::kMaxLeading
  bool unit_stride = true;  // of the columns of x, weight and y
  bool aligned = true;      // rows of x and y begin and end at multiples of 16 bytes
  int weight_access = 16;   // bytes; as far as the address of weight allows

  int threads_per_row = 256;
  int cluster = 1;
  bool reload = false;  // reads the row twice instead of keeping it in registers
  int rows_per_block = 1;
  int unroll = 1;      // rows that a thread has in flight
  int min_blocks = 1;  // on a multiprocessor; caps registers
  CachePolicy load = CachePolicy::kDefault;
  CachePolicy store = CachePolicy::kDefault;

  // What `visit` names before the first follows from the problem; from there on geometry that fixes
  // the order of summation within a row, which may not follow the number of rows; from the second
  // on geometry that may.
  static constexpr const char *kTreeFrom = "threads_per_row", *kFreeFrom = "rows_per_block";

  static constexpr void visit(auto& self, auto& v) {
    v("variant", self.variant, kVariantNames);
    v("element", self.element, kElementNames);
    v("weight", self.weight, kElementNames);
    v("hidden", self.hidden);
    v("want_rstd", self.want_rstd);
    v("leading", self.leading);
    v("unit_stride", self.unit_stride);
    v("aligned", self.aligned);
    v("weight_access", self.weight_access);
    v("threads_per_row", self.threads_per_row);
    v("cluster", self.cluster);
    v("reload", self.reload);
    v("rows_per_block", self.rows_per_block);
    v("unroll", self.unroll);
    v("min_blocks", self.min_blocks);
    v("load", self.load, kCachePolicyNames);
    v("store", self.store, kCachePolicyNames);
  }
};

// Where a thread finds the weights of its columns for every row.
enum class WeightsIn : int { kRegisters, kShared, kMemory };
inline constexpr const char* kWeightsInNames[] = {"registers", "shared", "memory"};

// cuda.jit.rms_norm_backward: a fixed number of clusters walk the rows, each with one partial sum
// of dweight; a second kernel adds the partials.
struct CudaBackwardCfg {
  Variant variant = Variant::kStandard;
  Element element = Element::kBF16;
  Element weight = Element::kBF16;
  int hidden = 0;
  bool has_rstd = true;
  bool want_dx = true;
  bool want_dweight = true;
  int leading = 1;
  bool unit_stride = true;  // of the columns of dy, x, weight and dx
  bool aligned = true;      // rows of dy, x and dx begin and end at multiples of 16 bytes
  int weight_access = 16;

  int threads_per_row = 256;
  int cluster = 1;
  bool reload = false;  // reads rows twice and adds to the partial sum in memory
  int rows_per_block = 1;
  int unroll = 1;
  int stages = 0;  // rows of x and dy that are copied ahead into shared memory; 0: read by threads
  bool hold = false;  // with stages: rows wait for their sums in registers; else are read again
  bool fill_first = false;  // with stages: the first are filled before the loop, not by turns of it
  WeightsIn weights = WeightsIn::kRegisters;  // kShared wants stages
  bool prefetch =
      false;  // without stages: the next rows are read before the present ones are summed
  int min_blocks = 1;
  int partials = 264;  // at most; a static choice, never that of the device at hand
  CachePolicy load = CachePolicy::kDefault;
  CachePolicy store = CachePolicy::kDefault;

  // As above; dx depends on the tree of a row alone, dweight is a sum over rows.
  static constexpr const char *kTreeFrom = "threads_per_row", *kFreeFrom = "rows_per_block";

  static constexpr void visit(auto& self, auto& v) {
    v("variant", self.variant, kVariantNames);
    v("element", self.element, kElementNames);
    v("weight", self.weight, kElementNames);
    v("hidden", self.hidden);
    v("has_rstd", self.has_rstd);
    v("want_dx", self.want_dx);
    v("want_dweight", self.want_dweight);
    v("leading", self.leading);
    v("unit_stride", self.unit_stride);
    v("aligned", self.aligned);
    v("weight_access", self.weight_access);
    v("threads_per_row", self.threads_per_row);
    v("cluster", self.cluster);
    v("reload", self.reload);
    v("rows_per_block", self.rows_per_block);
    v("unroll", self.unroll);
    v("stages", self.stages);
    v("hold", self.hold);
    v("fill_first", self.fill_first);
    v("weights", self.weights, kWeightsInNames);
    v("prefetch", self.prefetch);
    v("min_blocks", self.min_blocks);
    v("partials", self.partials);
    v("load", self.load, kCachePolicyNames);
    v("store", self.store, kCachePolicyNames);
  }
};

struct CudaForwardArgs {
  const void* x;
  const void* weight;  // null in `unweighted`
  void* y;
  float* rstd;  // null unless want_rstd
  long long rows;
  long long x_step, weight_step, y_step;  // elements between columns; read unless unit_stride
  kit::RowMap map;
  kit::RowStrides x_rows, y_rows, rstd_rows;
  float eps;

  static constexpr void visit(auto& self, auto& v) {
    v("x", self.x);
    v("weight", self.weight);
    v("y", self.y);
    v("rstd", self.rstd);
    v("rows", self.rows);
    v("x_step", self.x_step);
    v("weight_step", self.weight_step);
    v("y_step", self.y_step);
    v("map", self.map);
    v("x_rows", self.x_rows);
    v("y_rows", self.y_rows);
    v("rstd_rows", self.rstd_rows);
    v("eps", self.eps);
  }
};

struct CudaBackwardArgs {
  const void* dy;
  const void* x;
  const void* weight;
  const float* rstd;  // null unless has_rstd
  void* dx;           // null unless want_dx
  void* dweight;      // of the second kernel
  float* partials;    // [partial_count, partial_pitch], workspace
  long long rows;
  long long dy_step, x_step, weight_step, dx_step;
  long long dweight_step;  // always read
  kit::RowMap map;
  kit::RowStrides dy_rows, x_rows, rstd_rows, dx_rows;
  float eps;
  int partial_count;

  static constexpr void visit(auto& self, auto& v) {
    v("dy", self.dy);
    v("x", self.x);
    v("weight", self.weight);
    v("rstd", self.rstd);
    v("dx", self.dx);
    v("dweight", self.dweight);
    v("partials", self.partials);
    v("rows", self.rows);
    v("dy_step", self.dy_step);
    v("x_step", self.x_step);
    v("weight_step", self.weight_step);
    v("dx_step", self.dx_step);
    v("dweight_step", self.dweight_step);
    v("map", self.map);
    v("dy_rows", self.dy_rows);
    v("x_rows", self.x_rows);
    v("rstd_rows", self.rstd_rows);
    v("dx_rows", self.dx_rows);
    v("eps", self.eps);
    v("partial_count", self.partial_count);
  }
};

// Buckets of rows between which a table tells; a free number counts as the last.
inline constexpr const char* kRowBucketNames[] = {"few", "some", "many"};

constexpr int row_bucket(long long rows) { return rows <= 256 ? 0 : rows < 16384 ? 1 : 2; }

// Rows that a block (cluster) takes at a time.
constexpr int group_rows(const auto& cfg) { return cfg.rows_per_block * cfg.unroll; }

constexpr long long row_groups(const auto& cfg, long long rows) {
  return (rows + group_rows(cfg) - 1) / group_rows(cfg);
}

// Grids, in blocks. 0: nothing to launch.
constexpr long long forward_grid(const CudaForwardCfg& cfg, long long rows) {
  return row_groups(cfg, rows) * cfg.cluster;
}

// Floats from one partial sum of dweight to the next: whole accesses.
constexpr int partial_pitch(int hidden) { return divide_up(hidden, 8) * 8; }
constexpr int partial_pitch(const CudaBackwardCfg& cfg) { return partial_pitch(cfg.hidden); }

// Partials for which there is workspace: 8 MiB, or two blocks on each of 132 multiprocessors.
constexpr int max_partials(int hidden) {
  const int room = (8 << 20) / 4 / hidden;
  return room < 264 ? 264 : room > 1056 ? 1056 : room;
}

constexpr int backward_partials(const CudaBackwardCfg& cfg, long long rows) {
  const long long groups = row_groups(cfg, rows);
  return groups < cfg.partials ? static_cast<int>(groups) : cfg.partials;
}

constexpr long long backward_grid(const CudaBackwardCfg& cfg, long long rows) {
  return static_cast<long long>(backward_partials(cfg, rows)) * cfg.cluster;
}

// The second kernel of the backward: one warp-wide column strip a block, kReduceLanes partials at
// once.
inline constexpr int kReduceColumns = 32, kReduceLanes = 32;
inline constexpr int kReduceThreads = kReduceColumns * kReduceLanes;

constexpr long long reduce_grid(const CudaBackwardCfg& cfg) {
  return divide_up(cfg.hidden, kReduceColumns);
}

// Dynamic shared memory of the backward: barriers, then stages x {x, dy} x rows of a block, then
// weights.
inline constexpr int kBarrierBytes = 128;
inline constexpr int kMaxStages = kBarrierBytes / 8;

// Bytes of a block's slice of one row in a stage; rows at any address keep their place in a block
// of 16 bytes.
constexpr int staged_row_bytes(const CudaBackwardCfg& cfg) {
  return row_tiling(cfg).slice * element_bytes(cfg.element) + (cfg.aligned ? 0 : 16);
}

constexpr int dynamic_shared_bytes(const CudaForwardCfg&) { return 0; }
constexpr int dynamic_shared_bytes(const CudaBackwardCfg& cfg) {
  if (cfg.stages == 0) return 0;
  const bool with_weights = cfg.weights == WeightsIn::kShared;
  const int weights = with_weights ? row_tiling(cfg).slice * element_bytes(cfg.weight) : 0;
  return kBarrierBytes + cfg.stages * 2 * cfg.rows_per_block * staged_row_bytes(cfg) + weights;
}

// What a block of the backward needs in all: also the exchange of dweight and of the sums of a row.
constexpr int block_shared_bytes(const CudaBackwardCfg& cfg) {
  const int warps = divide_up(cfg.threads_per_row, 32);
  const int sums = 2 * 2 * cfg.unroll * cfg.cluster * warps * cfg.rows_per_block;
  const int exchange = cfg.want_dweight ? cfg.rows_per_block / 2 * row_tiling(cfg).slice : 0;
  return dynamic_shared_bytes(cfg) + 4 * (sums + exchange);
}

constexpr bool power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }

// What is wrong with a Cfg, or null.
constexpr const char* row_objection(const auto& cfg) {
  if (cfg.hidden < 1 || cfg.hidden > 262144) return "hidden is 1 to 262144";
  if (cfg.leading < 1 || cfg.leading > kit::kMaxLeading) return "leading is 1 to 7";
  if (cfg.aligned && cfg.hidden % row_tiling(cfg).width != 0) {
    return "aligned rows hold whole accesses of 16 bytes";
  }
  if (cfg.aligned && !cfg.unit_stride) return "strided columns are read one by one";
  if (!power_of_two(cfg.weight_access) || cfg.weight_access < element_bytes(cfg.weight) ||
      cfg.weight_access > 16) {
    return "weight_access is the element size of weight, 4, 8 or 16 bytes";
  }
  const int threads = cfg.threads_per_row;
  if (threads < 1 || (threads <= 32 ? !power_of_two(threads) : threads % 32 != 0)) {
    return "threads_per_row is a power of two up to 32, or whole warps";
  }
  if (cfg.rows_per_block < 1 || block_threads(cfg) > 1024 || block_threads(cfg) % 32 != 0) {
    return "a block is 1 to 32 whole warps";
  }
  if (cfg.unroll < 1 || cfg.unroll > 8) return "unroll is 1 to 8";
  if (cfg.min_blocks < 1 || cfg.min_blocks * block_threads(cfg) > 2048) {
    return "min_blocks blocks must fit a multiprocessor";
  }
  if (!power_of_two(cfg.cluster) || cfg.cluster > 16) return "cluster is 1, 2, 4, 8 or 16";
  if (cfg.cluster > 1 && threads % 32 != 0)
    return "a row on several blocks has whole warps in each";
  if (cfg.reload && (cfg.cluster > 1 || cfg.rows_per_block > 1 || cfg.unroll > 1)) {
    return "reload takes one row a block";
  }
  return nullptr;
}

// 32-bit registers that a thread's share of one row fills.
constexpr int row_registers(const auto& cfg) { return row_tiling(cfg).vectors * 4; }

constexpr int weight_registers(const auto& cfg) {
  return weighted(cfg.variant)
             ? row_registers(cfg) * element_bytes(cfg.weight) / element_bytes(cfg.element)
             : 0;
}

constexpr const char* objection(const CudaForwardCfg& cfg) {
  if (const char* why = row_objection(cfg)) return why;
  if (!cfg.reload && row_registers(cfg) > 32) return "the row does not fit in registers";
  if (!cfg.reload && row_registers(cfg) * cfg.unroll > 48)
    return "unroll: the rows do not fit in registers";
  return nullptr;
}

constexpr const char* objection(const CudaBackwardCfg& cfg) {
  if (const char* why = row_objection(cfg)) return why;
  if (!cfg.want_dx && !cfg.want_dweight) return "no output is wanted";
  if (cfg.want_dweight && !weighted(cfg.variant)) return "unweighted has no dweight";
  if (cfg.want_dweight && !power_of_two(cfg.rows_per_block)) {
    return "rows_per_block is a power of two: the partial sums of a block form a tree";
  }
  if (cfg.want_dweight && cfg.rows_per_block / 2 * row_tiling(cfg).slice > 10240) {
    return "rows_per_block: the exchange of partial sums exceeds 40 KiB";
  }
  if (cfg.partials < 1 || cfg.partials > max_partials(cfg.hidden)) {
    return "partials is 1 to what the workspace holds: 8 MiB, between 264 and 1056 rows";
  }
  if (!cfg.reload && row_tiling(cfg).vectors * row_tiling(cfg).width > 32) {
    return "the row does not fit in registers";
  }
  if (cfg.prefetch && (cfg.reload || row_tiling(cfg).vectors > 2)) {
    return "prefetch excludes reload and more than two accesses a thread";
  }
  if (cfg.weights == WeightsIn::kShared &&
      (cfg.stages == 0 || !weighted(cfg.variant) ||
       row_tiling(cfg).width * element_bytes(cfg.weight) % 16 != 0)) {
    return "weights in shared memory want stages, and to be as wide as x or wider";
  }
  if (cfg.weights == WeightsIn::kRegisters && !cfg.reload && weight_registers(cfg) > 16) {
    return "the weights do not fit in registers";
  }
  if ((cfg.hold || cfg.fill_first) && cfg.stages == 0) return "hold and fill_first want stages";
  if (cfg.stages == 0) {
    const int rows = cfg.prefetch ? 2 * cfg.unroll : cfg.unroll;
    if (!cfg.reload && row_registers(cfg) * rows > 32) return "the rows do not fit in registers";
    return nullptr;
  }
  if (cfg.reload || cfg.unroll > 1 || cfg.prefetch)
    return "stages exclude reload, unroll and prefetch";
  if (cfg.stages < 2 || cfg.stages > kMaxStages) return "stages is 0 or 2 to 16";
  if (!cfg.unit_stride) return "stages need columns without stride";
  if (!cfg.aligned && (!cfg.hold || cfg.fill_first)) {
    return "unaligned rows in stages are held, for a read takes two turns, and filled by the loop";
  }
  if (block_shared_bytes(cfg) > 227 * 1024) return "stages do not fit in shared memory";
  return nullptr;
}

}  // namespace kw::ops::rms_norm
