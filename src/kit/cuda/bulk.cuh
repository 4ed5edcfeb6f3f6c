// SPDX-License-Identifier: Apache-2.0
// Copies from global to shared memory that complete on an mbarrier: one-dimensional bulk copies,
// whose addresses and sizes are multiples of 16 bytes, and words for what those leave. sm_90 and
// later.
#pragma once

#include "kernelwright/kit/cuda/cluster.cuh"

namespace kw::kit::cuda {

// A barrier for so many arrivals a phase. Other threads may use it after fence_barriers and a block
// barrier.
inline void init_barrier(u32 barrier, u32 arrivals = 1) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

inline void fence_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory");
}

// Arrives, and makes the phase wait for `bytes` of copies.
inline void expect_bytes(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

inline void bulk_load(u32 to, const void* from, u32 bytes, u32 barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

// The first `bytes` (1 to 4) of a word; zeros after them. Addresses are multiples of 4.
inline void word_load(u32 to, const void* from, u32 bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes)
               : "memory");
}

// Arrives, one of the barrier's arrivals, when this thread's word_loads have completed.
inline void arrive_after_words(u32 barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// Until the phase of `parity` (0 first, then in turn) has completed.
inline void wait_barrier(u32 barrier, u32 parity) {
  asm volatile(
      "{\n\t.reg .pred done;\n"
      "wait_%=:\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
      "@!done bra wait_%=;\n\t}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

}  // namespace kw::kit::cuda
