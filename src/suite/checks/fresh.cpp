// SPDX-License-Identifier: Apache-2.0
// Whether calls answer for the inputs that they got, also after hundreds of them, and what those
// leave behind.
#include <malloc.h>

#include <chrono>

#include <fmt/core.h>

#include "kernelwright/suite/checks/class_checks.hpp"

// Of a sanitizer's allocator, which does not tell mallinfo2().
// NOLINTNEXTLINE(readability-identifier-naming): its name is theirs.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes() __attribute__((weak));

namespace kw::suite {
namespace {

constexpr int kWarmCalls = 20, kSoakCalls = 200;
constexpr double kSoakSeconds = 1;
constexpr double kHostSlack = 64e3, kHostPerCall = 64;  // bytes: what caches may still take
constexpr double kDeviceSlack = 2e6;

double host_bytes() {
  if (__sanitizer_get_current_allocated_bytes != nullptr)
    return static_cast<double>(__sanitizer_get_current_allocated_bytes());
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

}  // namespace

// The inputs change in the same memory: an answer that was kept, by address or by shape, is stale.
void ClassChecks::fresh() {
  expected(0);
  CallSet& calls = set(0);
  calls.produce(nullptr, set(1));
  throw_if_failed(callable_.call_on(calls.arguments(), nullptr));
  device_.synchronize(nullptr);
  const Outputs outputs = calls.current();
  if (const auto wrong = wrong_values(1, outputs)) {
    reject("fresh", Reason::kStaleReplay,
           "right at first, wrong after the inputs changed in place: " + *wrong);
    return;
  }
  // What later checks compare with.
  if (options_.deterministic && outputs != expected(1)) {
    reject("fresh", Reason::kStaleReplay, "equal inputs at another address give other bits");
    return;
  }
  pass("fresh");
}

void ClassChecks::soak() {
  CallSet& calls = set(0);
  calls.produce(nullptr);
  const auto run = [&](int most) {
    const auto start = std::chrono::steady_clock::now();
    int made = 0;
    for (; made < most; ++made) {
      throw_if_failed(callable_.call_on(calls.arguments(), nullptr));
      device_.synchronize(nullptr);
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (seconds > kSoakSeconds && made >= kWarmCalls) break;
    }
    return made;
  };
  // Grows twice, or it was a cache that filled up.
  run(kWarmCalls);
  bool host_grows = true, device_grows = device_.is_asynchronous();
  double host = 0, device = 0;
  int made = 0;
  for (int round = 0; round < 2 && (host_grows || device_grows); ++round) {
    const double host_before = host_bytes();
    const auto free_before = static_cast<double>(device_.memory_info().free_bytes);
    made = run(kSoakCalls);
    host = host_bytes() - host_before;
    device = free_before - static_cast<double>(device_.memory_info().free_bytes);
    host_grows &= host > kHostSlack + kHostPerCall * made;
    device_grows &= device > kDeviceSlack;
  }
  if (host_grows || device_grows) {
    reject("soak", Reason::kMemoryGrowth,
           fmt::format("{} calls took {:.0f} bytes of {} memory and kept them", made,
                       device_grows ? device : host, device_grows ? "device" : "host"));
    return;
  }
  calls.produce(nullptr, set(1));
  throw_if_failed(callable_.call_on(calls.arguments(), nullptr));
  device_.synchronize(nullptr);
  if (!right(1, calls.current())) {
    reject("soak", Reason::kStaleReplay,
           fmt::format("wrong after {} calls, when the inputs changed in place", 2 * made));
    return;
  }
  checks_.add({"soak", true, Reason::kNone, {}, {{"calls", made}, {"host_bytes", host}}});
}

}  // namespace kw::suite
