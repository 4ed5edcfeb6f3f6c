// SPDX-License-Identifier: Apache-2.0
// Sums over the threads of a row: lanes of a warp, warps of a block, blocks of a cluster. The tree
// is fixed by the template arguments, so equal inputs give equal bits.
#pragma once

#include "kernelwright/kit/cuda/cluster.cuh"

namespace kw::kit::cuda {

constexpr int power_of_two_from(int n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}

// Over kLanes neighbouring lanes (a power of two, at most 32); every lane gets the sum.
template <int kLanes>
inline float lane_sum(float value) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2)
    value += __shfl_xor_sync(0xffffffffU, value, step);
  return value;
}

// Shared memory for row_sum over kThreads threads of each of kBlocks blocks, in floats, for one row
// group. Two sets, used in turn, make one barrier per sum enough.
template <int kThreads, int kBlocks, int kValues>
inline constexpr int kRowSumSlots = kThreads <= 32 && kBlocks == 1
                                        ? 0
                                        : kBlocks*((kThreads + 31) / 32) * kValues;

// Sums each of `values` over the kThreads threads (a power of two to 32, or a multiple of 32) of a
// row in each of kBlocks blocks. Beyond one warp, every thread of the block (of the cluster) must
// call it.
template <int kThreads, int kBlocks, int kValues>
inline void row_sum(float (&values)[kValues], float* slots) {
#pragma unroll
  for (int i = 0; i < kValues; ++i)
    values[i] = lane_sum<(kThreads < 32 ? kThreads : 32)>(values[i]);
  if constexpr (kThreads > 32 || kBlocks > 1) {
    static_assert(kThreads % 32 == 0, "a row of several warps has whole warps");
    constexpr int kWarps = kThreads / 32, kSums = kWarps * kBlocks;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int warp = static_cast<int>(threadIdx.x % kThreads / 32);
    if constexpr (kBlocks > 1) {
      // Lane b tells block b, which makes one exchange of it.
      if (lane < kBlocks) {
        const u32 mine = cluster_rank() * kWarps + static_cast<u32>(warp);
        const u32 peer = peer_address(shared_address(slots) + 4 * mine, static_cast<u32>(lane));
#pragma unroll
        for (int i = 0; i < kValues; ++i)
          store_to_peer(peer + static_cast<u32>(4 * i * kSums), values[i]);
      }
      cluster_arrive();
      cluster_wait();
    } else {
      if (lane == 0) {
#pragma unroll
        for (int i = 0; i < kValues; ++i) slots[i * kSums + warp] = values[i];
      }
      __syncthreads();
    }
    constexpr int kLanes = power_of_two_from(kSums) < 32 ? power_of_two_from(kSums) : 32;
    const int first = lane % kLanes;
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      float sum = first < kSums ? slots[i * kSums + first] : 0.0F;
#pragma unroll
      for (int at = 32; at < kSums; at += 32) {
        if (at + first < kSums) sum += slots[i * kSums + at + first];
      }
      values[i] = lane_sum<kLanes>(sum);
    }
  }
}

}  // namespace kw::kit::cuda
