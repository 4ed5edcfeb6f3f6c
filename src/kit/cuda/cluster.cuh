// SPDX-License-Identifier: Apache-2.0
// Thread block clusters: rank, barrier, stores into a peer's shared memory. sm_90 and later.
#pragma once

#include "kernelwright/kit/cuda/types.cuh"

namespace kw::kit::cuda {

inline u32 shared_address(const void* pointer) {
  u64 address;
  asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(pointer));
  return static_cast<u32>(address);
}

inline u32 cluster_rank() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Releases this thread's stores to the cluster; the wait acquires those of all threads.
inline void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
inline void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// Where block `rank` has what this block has at `address` of shared memory. To be added to as it
// is: of sums of pointers, ptxas of CUDA 13.0 once kept the upper half in place of the lower, and
// the store was out of bounds (rms_norm on 64x4x8 threads, two rows each, tools/gpu/geometries.sh).
inline u32 peer_address(u32 address, u32 rank) {
  u32 peer;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(address), "r"(rank));
  return peer;
}
// That block must have started: see cluster_arrive.
inline void store_to_peer(u32 address, float value) {
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}

}  // namespace kw::kit::cuda
