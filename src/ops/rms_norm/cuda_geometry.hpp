// SPDX-License-Identifier: Apache-2.0
// Geometry of cuda.jit by formula: what a Cfg gets where tuning.json knows no better. Host only; a
// kernel sees the outcome.
#pragma once

#include "kernelwright/ops/rms_norm/cfg.hpp"

namespace kw::ops::rms_norm {

// Of a device, for the choice of geometry.
struct CudaLimits {
  int max_cluster = 16;               // 1 before sm_90, 8 on sm_120
  int max_shared_bytes = 227 * 1024;  // of one block; 0 without bulk copies (before sm_90)
};

constexpr int clamp(int value, int low, int high) {
  return value < low ? low : value > high ? high : value;
}
constexpr int power_of_two_from(int n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}

// Threads and blocks for `accesses` of a row: a power of two up to a warp of `narrow` accesses a
// thread, then whole warps of `few`, then up to `many`, then clusters. False where those end.
constexpr bool tile_row(auto& cfg, int accesses, int narrow, int few, int many, int max_threads,
                        int max_cluster) {
  cfg.cluster = 1;
  if (accesses <= 32 * narrow) {
    cfg.threads_per_row = clamp(power_of_two_from(accesses), 1, 32);
    return true;
  }
  cfg.threads_per_row = clamp(divide_up(divide_up(accesses, few), 32) * 32, 32, max_threads);
  while (divide_up(accesses, cfg.threads_per_row * cfg.cluster) > many) cfg.cluster *= 2;
  return cfg.cluster <= max_cluster;
}

// Blocks of a multiprocessor that together have 1024 threads: up to 64 registers a thread.
constexpr int blocks_of_1024_threads(const auto& cfg) {
  return clamp(1024 / block_threads(cfg), 1, 8);
}

// Multiprocessors that the number of partials assumes: a static choice keeps dweight the same.
inline constexpr int kPartialsUnit = 132;

// Geometry where no table knows better; measured on an H200, see docs/benchmarks.md. The tree,
// threads and cluster of a row, follows from static facts and the device, never from alignment or
// the number of rows: either would change the order of summation.
constexpr void set_tree(CudaForwardCfg& cfg, CudaLimits limits) {
  const int accesses = divide_up(cfg.hidden, row_tiling(cfg).width);
  // Two accesses a thread up to 256 threads, then four; 0.1135 ms against 0.1223 with two at
  // 16384x7168.
  // Wide rows of f32 take eight, so that two clusters share their multiprocessors: one reads while
  // the other writes.
  if (row_tiling(cfg).width == 4 && accesses > 4096) {
    cfg.reload = !tile_row(cfg, accesses, 4, 8, 8, 512, limits.max_cluster);
  } else {
    cfg.reload = !tile_row(cfg, accesses, 4, accesses <= 512 ? 2 : 4, 4, 1024, limits.max_cluster);
  }
  if (!cfg.reload) return;
  cfg.cluster = 1;
  cfg.threads_per_row = 1024;
}

// The sums of dweight take a register a column: 8 columns a thread as far as 1024 threads reach.
constexpr int columns_accesses(const CudaBackwardCfg& cfg) {
  return divide_up(8, row_tiling(cfg).width);
}
constexpr bool is_wide(const CudaBackwardCfg& cfg, CudaLimits limits) {
  return limits.max_shared_bytes > 0 &&
         cfg.hidden > 32 * columns_accesses(cfg) * row_tiling(cfg).width;
}

constexpr void set_tree(CudaBackwardCfg& cfg, CudaLimits limits) {
  const int accesses = divide_up(cfg.hidden, row_tiling(cfg).width);
  const int few = columns_accesses(cfg);
  const int max_threads = is_wide(cfg, limits) && accesses <= 1024 * few ? 1024 : 512;
  // 1024 threads where clusters of 512 end: reading twice from memory and keeping a partial sum
  // per row there moves 1.7 times the bytes.
  cfg.reload = (!tile_row(cfg, accesses, few, few, 4, max_threads, limits.max_cluster) &&
                !tile_row(cfg, accesses, few, few, 4, 1024, limits.max_cluster)) ||
               (row_registers(cfg) > 8 && (limits.max_shared_bytes == 0 || cfg.weight_access < 4));
  if (!cfg.reload) return;
  cfg.cluster = 1;
  cfg.threads_per_row = 1024;
}

// The other geometry, for the tree that is set.
constexpr void set_free(CudaForwardCfg& cfg, long long rows, CudaLimits) {
  cfg.rows_per_block = cfg.unroll = cfg.min_blocks = 1;
  if (cfg.reload) return;
  const bool many_narrow_rows =
      row_registers(cfg) <= 4 && rows >= 16384 && cfg.threads_per_row <= 32;
  if (many_narrow_rows) cfg.unroll = 2;
  if (cfg.threads_per_row < 128 && cfg.cluster == 1) {
    cfg.rows_per_block = divide_up(many_narrow_rows ? 512 : 256, cfg.threads_per_row);
  }
  // 64 registers a thread hold a row with its weights.
  const int registers = row_registers(cfg) + weight_registers(cfg);
  if (registers <= 32 || row_registers(cfg) == 32) {  // which read weights again
    cfg.min_blocks = blocks_of_1024_threads(cfg);
  } else {
    cfg.min_blocks = clamp(512 / block_threads(cfg), 1, 4);
  }
}

// Of rows in stages, which leave no L1 cache to read weights from again: kept where one block has
// the registers. With two accesses they come from memory before the row does: kept, 16384 rows of
// 7168 took 188 us instead of 180. Unaligned rows wait in registers, and many columns leave none.
constexpr void set_weights(CudaBackwardCfg& cfg, int vectors, int columns) {
  const bool room = cfg.aligned && vectors > 2 && weight_registers(cfg) <= 16;
  if (vectors == 1 || room) {
    cfg.weights = WeightsIn::kRegisters;
  } else if (!cfg.aligned && columns > 8 && weighted(cfg.variant) &&
             row_tiling(cfg).width * element_bytes(cfg.weight) % 16 == 0) {
    cfg.weights = WeightsIn::kShared;
  } else {
    cfg.weights = WeightsIn::kMemory;
  }
}

constexpr void set_free(CudaBackwardCfg& cfg, long long /*rows*/, CudaLimits limits) {
  cfg.rows_per_block = cfg.unroll = cfg.min_blocks = 1;
  cfg.stages = 0;
  cfg.hold = cfg.fill_first = cfg.prefetch = false;
  cfg.weights = WeightsIn::kMemory;
  cfg.partials = 2 * kPartialsUnit;
  if (cfg.reload) return;
  // Partials of wide rows must not outweigh the rows; eight graphics clusters divide these.
  if (cfg.cluster > 1) cfg.partials = 256 / cfg.cluster;
  const bool wide = is_wide(cfg, limits);
  if (wide && cfg.unit_stride) {
    // Several blocks a multiprocessor while a thread needs at most 64 registers, 120 where it
    // shifts.
    const int vectors = row_tiling(cfg).vectors, columns = vectors * row_tiling(cfg).width;
    const int blocks = columns > 8   ? 1
                       : cfg.aligned ? blocks_of_1024_threads(cfg)
                                     : clamp(512 / block_threads(cfg), 1, 6);
    set_weights(cfg, vectors, columns);
    const bool shared = cfg.weights == WeightsIn::kShared;
    const int weights = shared ? row_tiling(cfg).slice * element_bytes(cfg.weight) : 0;
    const int room =
        (limits.max_shared_bytes / blocks - 4096 - weights) / (2 * staged_row_bytes(cfg));
    if (room >= 2) {
      // One access a row waits in registers, of more the stage is cheaper. Unaligned rows all wait:
      // their reads take twice the turns.
      cfg.hold = !cfg.aligned || vectors == 1;
      cfg.stages = clamp(room, 2, 4);
      cfg.min_blocks = blocks;
      if (cfg.cluster == 1) cfg.partials = blocks * kPartialsUnit;
      return;
    }
  }
  cfg.weights = row_tiling(cfg).vectors <= 2 ? WeightsIn::kRegisters : WeightsIn::kMemory;
  if (cfg.threads_per_row < 256) cfg.rows_per_block = power_of_two_from(256 / cfg.threads_per_row);
  while (block_threads(cfg) > (wide ? 1024 : 512) ||
         cfg.rows_per_block / 2 * row_tiling(cfg).slice > 10240) {
    cfg.rows_per_block /= 2;
  }
  // Narrow rows have few bytes in flight: 1024 threads a multiprocessor, at 64 registers.
  if (cfg.threads_per_row <= 32 && row_registers(cfg) <= 4) {
    cfg.min_blocks = blocks_of_1024_threads(cfg);
    cfg.partials = cfg.min_blocks * kPartialsUnit;
  }
}

}  // namespace kw::ops::rms_norm
