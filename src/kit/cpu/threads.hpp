// SPDX-License-Identifier: Apache-2.0
// parallel_for over independent items. Items must not depend on which thread runs them; results
// that are to be equal for any thread count follow from that.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include <omp.h>
#include <pthread.h>

namespace kw::kit::cpu {

inline constexpr int kMaxThreads = 256;

// A forked child inherits libgomp's list of threads without the threads, and its first team would
// wait for them forever. So the forking thread lets its team go; the next call makes another.
inline void survive_forks() noexcept {
  [[maybe_unused]] static const int registered =
      pthread_atfork([] { (void)omp_pause_resource_all(omp_pause_hard); }, nullptr, nullptr);
}

// Runs body(item) once for each item in [0, count), on up to `threads` threads. Every thread owns a
// contiguous share, so that repeated calls find their rows in the same core's cache, and takes from
// its neighbours when done: a thread that the system delays costs one item, not its whole share.
// A team smaller than asked for (nested parallelism) is legal: shares without an owner are taken.
template <typename Body>
void parallel_for(int threads, std::int64_t count, const Body& body) noexcept {
  threads = static_cast<int>(std::min<std::int64_t>({threads, count, kMaxThreads}));
  if (threads <= 1) {
    for (std::int64_t item = 0; item < count; ++item) body(item);
    return;
  }
  survive_forks();
  struct alignas(64) Share {
    std::atomic<std::int64_t> next;
    std::int64_t end;
  };
  std::array<Share, kMaxThreads> shares;
  for (int t = 0; t < threads; ++t) {
    shares[t].next.store(count * t / threads, std::memory_order_relaxed);
    shares[t].end = count * (t + 1) / threads;
  }
#pragma omp parallel num_threads(threads)
  {
    const int self = omp_get_thread_num();
    for (int step = 0; step < threads; ++step) {
      Share& share = shares[(self + step) % threads];
      for (;;) {
        const std::int64_t item = share.next.fetch_add(1, std::memory_order_relaxed);
        if (item >= share.end) break;
        body(item);
      }
    }
  }
}

}  // namespace kw::kit::cpu
