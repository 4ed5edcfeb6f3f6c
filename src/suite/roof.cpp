// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/roof.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "kernelwright/runtime/memory.hpp"

namespace kw::suite {
namespace {

constexpr std::int64_t kMinBytes = std::int64_t{64} << 20;
constexpr std::int64_t kMinDeviceBytes = std::int64_t{1} << 30;  // beside which a start is nothing
constexpr std::int64_t kPiece = 256 << 10;  // per iteration of the parallel loop; a multiple of 64
constexpr int kRepetitions = 9;

double fastest_ns(const std::function<void()>& copy) {
  copy();  // maps the pages
  double best = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    copy();
    const double ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    best = best == 0 ? ns : std::min(best, ns);
  }
  return best;
}

template <typename Copy>
void copy_pieces(std::byte* to, const std::byte* from, std::int64_t bytes, int threads, Copy copy) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t at = 0; at < bytes; at += kPiece)
    copy(to + at, from + at, std::min(kPiece, bytes - at));
}

void plain_copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

#if defined(__SSE2__)
// Both addresses and the size are multiples of 64.
void streaming_copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  auto* out = reinterpret_cast<__m128i*>(to);
  const auto* in = reinterpret_cast<const __m128i*>(from);
  for (std::int64_t i = 0; i < bytes / 16; i += 4) {
    const __m128i a = _mm_load_si128(in + i), b = _mm_load_si128(in + i + 1);
    const __m128i c = _mm_load_si128(in + i + 2), d = _mm_load_si128(in + i + 3);
    _mm_stream_si128(out + i, a);
    _mm_stream_si128(out + i + 1, b);
    _mm_stream_si128(out + i + 2, c);
    _mm_stream_si128(out + i + 3, d);
  }
  _mm_sfence();
}
#endif

}  // namespace

Roof measure_copy_roof(runtime::Device& device) {
  const Hardware& hardware = device.hardware();
  const bool own_memory = hardware.kind != DeviceKind::kCpu;
  std::int64_t bytes =
      std::max(own_memory ? kMinDeviceBytes : kMinBytes, 4 * hardware.last_level_cache_bytes);
  bytes = std::min(bytes, device.memory_info().free_bytes / 8) / 64 * 64;
  const runtime::Buffer from(device, bytes), to(device, bytes);
  Roof roof;
  roof.bytes = static_cast<double>(bytes);
  const auto offer = [&](const char* method, double ns) {
    const double rate = 2 * static_cast<double>(bytes) / ns;
    if (rate <= roof.gigabytes_per_second) return;
    roof.gigabytes_per_second = rate;
    roof.method = method;
  };
  if (own_memory) {
    const auto begin = device.create_event(), end = device.create_event();
    for (int i = 0; i <= kRepetitions; ++i) {
      begin->record(nullptr);
      device.copy(to.data(), from.data(), bytes, nullptr);
      end->record(nullptr);
      end->synchronize();
      if (i > 0) offer("device copy", end->elapsed_ns_since(*begin));
    }
    return roof;
  }
  roof.threads = std::max(hardware.units, 1);
  copy_pieces(from.data(), from.data(), bytes, roof.threads,
              [](std::byte* at, const std::byte*, std::int64_t n) {
                std::memset(
                    at, 1,
                    static_cast<std::size_t>(n));  // untouched pages would all be one page of zeros
              });
  offer("memcpy",
        fastest_ns([&] { copy_pieces(to.data(), from.data(), bytes, roof.threads, plain_copy); }));
#if defined(__SSE2__)
  offer("streaming stores", fastest_ns([&] {
          copy_pieces(to.data(), from.data(), bytes, roof.threads, streaming_copy);
        }));
#endif
  return roof;
}

}  // namespace kw::suite
