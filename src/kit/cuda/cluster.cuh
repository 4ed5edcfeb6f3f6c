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

// Writes to the same variable of block `rank`. That block must have started: see cluster_arrive.
inline void store_to_peer(float* variable, u32 rank, float value) {
  asm volatile(
      "{ .reg .b32 peer; mapa.shared::cluster.u32 peer, %0, %1; st.shared::cluster.f32 [peer], %2; "
      "}" ::"r"(shared_address(variable)),
      "r"(rank), "f"(value)
      : "memory");
}

}  // namespace kw::kit::cuda
