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
#include "kernelwright/suite/device_kernels.hpp"
#include "kernelwright/suite/host_copy.hpp"

namespace kw::suite {
namespace {

constexpr std::int64_t kMinBytes = std::int64_t{64} << 20;
constexpr std::int64_t kMinDeviceBytes = std::int64_t{1} << 30;  // beside which a start is nothing
constexpr std::int64_t kPiece = 256 << 10;  // per iteration of the parallel loop; a multiple of 64
constexpr std::int64_t kStretch = 16 << 20;
constexpr int kRepetitions = 9;

template <typename Visit>
void visit_pieces(std::byte* data, std::int64_t bytes, int threads, Visit visit) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t at = 0; at < bytes; at += kPiece)
    visit(data + at, std::min(kPiece, bytes - at));
}

void plain_fill(std::byte* data, std::int64_t bytes) {
  std::memset(data, 1, static_cast<std::size_t>(bytes));
}

#if defined(__SSE2__)
void streaming_fill(std::byte* data, std::int64_t bytes) {
  auto* out = reinterpret_cast<__m128i*>(data);
  const __m128i ones = _mm_set1_epi8(1);
  for (std::int64_t i = 0; i < bytes / 16; ++i) _mm_stream_si128(out + i, ones);
  _mm_sfence();
}

// Leaves a trace in the first bytes, which keeps the loads.
void read_all(std::byte* data, std::int64_t bytes) {
  const auto* in = reinterpret_cast<const __m128i*>(data);
  __m128i a = _mm_setzero_si128(), b = a, c = a, d = a;
  for (std::int64_t i = 0; i < bytes / 16; i += 4) {
    a = _mm_xor_si128(a, _mm_load_si128(in + i));
    b = _mm_xor_si128(b, _mm_load_si128(in + i + 1));
    c = _mm_xor_si128(c, _mm_load_si128(in + i + 2));
    d = _mm_xor_si128(d, _mm_load_si128(in + i + 3));
  }
  _mm_store_si128(reinterpret_cast<__m128i*>(data),
                  _mm_xor_si128(_mm_xor_si128(a, b), _mm_xor_si128(c, d)));
}
#endif

double rate(std::int64_t bytes, double ns) { return static_cast<double>(bytes) / ns; }

class RoofRun {
 public:
  RoofRun(runtime::Device& device, std::int64_t bytes)
      : device_(device), bytes_(bytes), from_(device, bytes), to_(device, bytes) {
    roof_.bytes = static_cast<double>(bytes);
  }

  Roof on_device(DeviceKernels* kernels) {
    offer_copy("device copy", rate(2 * bytes_, device_ns([&] {
                                     device_.copy(to_.data(), from_.data(), bytes_, nullptr);
                                   })));
    roof_.write_gigabytes_per_second =
        rate(bytes_, device_ns([&] { device_.fill(to_.data(), 0, bytes_, nullptr); }));
    if (kernels != nullptr) {
      device_.fill(from_.data(), 0, bytes_, nullptr);
      roof_.read_gigabytes_per_second =
          rate(2 * bytes_,
               device_ns([&] { kernels->compare(from_.data(), to_.data(), bytes_, nullptr); }));
    }
    return roof_;
  }

  Roof on_host() {
    const int threads = roof_.threads = std::max(device_.hardware().units, 1);
    std::byte *from = from_.data(), *to = to_.data();
    // Untouched pages would all be one page of zeros.
    visit_pieces(from, bytes_, threads, plain_fill);
    visit_pieces(to, bytes_, threads, plain_fill);
    const auto copies = [=](HostCopy how) {
      return [=](std::int64_t at, std::int64_t bytes) {
        copy_on_host(how, to + at, from + at, bytes, threads);
      };
    };
    const auto visits = [=](std::byte* data, auto visit) {
      return [=](std::int64_t at, std::int64_t bytes) {
        visit_pieces(data + at, bytes, threads, visit);
      };
    };
    for (const HostCopy how : kHostCopies)
      offer_copy(host_copy_name(how), 2 * fastest_rate(copies(how)));
    double& write = roof_.write_gigabytes_per_second = fastest_rate(visits(to, plain_fill));
#if defined(__SSE2__)
    write = std::max(write, fastest_rate(visits(to, streaming_fill)));
    roof_.read_gigabytes_per_second = fastest_rate(visits(from, read_all));
#endif
    return roof_;
  }

 private:
  void offer_copy(std::string_view method, double gigabytes_per_second) {
    if (gigabytes_per_second <= roof_.gigabytes_per_second) return;
    roof_.gigabytes_per_second = gigabytes_per_second;
    roof_.method = method;
  }

  // GB/s of the fastest stretch. A whole buffer takes long enough for another process to get a
  // core.
  double fastest_rate(const std::function<void(std::int64_t at, std::int64_t bytes)>& work) const {
    double best = 0;
    for (int i = 0; i < kRepetitions; ++i) {
      for (std::int64_t at = 0; at + kStretch <= bytes_; at += kStretch) {
        const auto start = std::chrono::steady_clock::now();
        work(at, kStretch);
        const std::chrono::duration<double, std::nano> ns =
            std::chrono::steady_clock::now() - start;
        best = std::max(best, rate(kStretch, ns.count()));
      }
    }
    return best;
  }

  double device_ns(const std::function<void()>& work) {
    const auto begin = device_.create_event(), end = device_.create_event();
    double best = 0;
    for (int i = 0; i <= kRepetitions; ++i) {
      begin->record(nullptr);
      work();
      end->record(nullptr);
      end->synchronize();
      const double ns = end->elapsed_ns_since(*begin);
      if (i == 1 || (i > 1 && ns < best)) best = ns;
    }
    return best;
  }

  runtime::Device& device_;
  const std::int64_t bytes_;
  const runtime::Buffer from_, to_;
  Roof roof_;
};

}  // namespace

Roof measure_roofs(runtime::Device& device, DeviceKernels* kernels) {
  const Hardware& hardware = device.hardware();
  const bool own_memory = hardware.kind != DeviceKind::kCpu;
  std::int64_t bytes =
      std::max(own_memory ? kMinDeviceBytes : kMinBytes, 4 * hardware.last_level_cache_bytes);
  bytes = std::min(bytes, device.memory_info().free_bytes / 8) / 64 * 64;
  RoofRun run(device, bytes);
  return own_memory ? run.on_device(kernels) : run.on_host();
}

}  // namespace kw::suite
