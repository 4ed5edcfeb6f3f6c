// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/host_copy.hpp"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace kw::suite {
namespace {

constexpr std::int64_t kPiece = 256 << 10;  // per iteration of the parallel loop; a multiple of 64

void stream_piece(std::byte* to, const std::byte* from, std::int64_t bytes) noexcept {
#if defined(__SSE2__)
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
#else
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
#endif
}

}  // namespace

std::string_view host_copy_name(HostCopy how) noexcept {
  return how == HostCopy::kPlain ? "memcpy" : "streaming stores";
}

void copy_on_host(HostCopy how, std::byte* to, const std::byte* from, std::int64_t bytes,
                  int threads) noexcept {
  // A thread without a piece would still be woken and waited for.
  const std::int64_t pieces = std::max<std::int64_t>((bytes + kPiece - 1) / kPiece, 1);
  const int used = static_cast<int>(std::min<std::int64_t>(threads, pieces));
#pragma omp parallel for schedule(static) num_threads(used)
  for (std::int64_t at = 0; at < bytes; at += kPiece) {
    const std::int64_t piece = std::min(kPiece, bytes - at);
    if (how == HostCopy::kStreaming)
      stream_piece(to + at, from + at, piece);
    else
      std::memcpy(to + at, from + at, static_cast<std::size_t>(piece));
  }
}

}  // namespace kw::suite
