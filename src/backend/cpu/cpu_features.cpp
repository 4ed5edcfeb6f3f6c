// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/backend/cpu/cpu_features.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "kernelwright/base/text.hpp"

namespace kw::runtime {
namespace {

// Bits of XCR0: register state that the OS saves on a context switch.
constexpr std::uint64_t kNoState = 0;
constexpr std::uint64_t kYmm = 0x6;       // XMM, upper halves of YMM
constexpr std::uint64_t kZmm = 0xe6;      // and masks, upper halves of ZMM 0-15, ZMM 16-31
constexpr std::uint64_t kTile = 0x60000;  // tile configuration, tile data

using Register = std::uint32_t CpuidRegisters::*;

struct Feature {
  std::string_view name;
  std::uint32_t leaf, subleaf;
  Register reg;
  int bit;
  std::uint64_t state;
  int capability;  // the least that a machine with it may have
};

constexpr Feature kFeatures[] = {
    {"sse4_2", 1, 0, &CpuidRegisters::ecx, 20, kNoState, 1},
    {"avx", 1, 0, &CpuidRegisters::ecx, 28, kYmm, 2},
    {"f16c", 1, 0, &CpuidRegisters::ecx, 29, kYmm, 2},
    {"fma", 1, 0, &CpuidRegisters::ecx, 12, kYmm, 2},
    {"avx2", 7, 0, &CpuidRegisters::ebx, 5, kYmm, 2},
    {"bmi2", 7, 0, &CpuidRegisters::ebx, 8, kNoState, 2},
    {"avx_vnni", 7, 1, &CpuidRegisters::eax, 4, kYmm, 2},
    {"avx512f", 7, 0, &CpuidRegisters::ebx, 16, kZmm, 3},
    {"avx512dq", 7, 0, &CpuidRegisters::ebx, 17, kZmm, 3},
    {"avx512cd", 7, 0, &CpuidRegisters::ebx, 28, kZmm, 3},
    {"avx512bw", 7, 0, &CpuidRegisters::ebx, 30, kZmm, 3},
    {"avx512vl", 7, 0, &CpuidRegisters::ebx, 31, kZmm, 3},
    {"avx512_vnni", 7, 0, &CpuidRegisters::ecx, 11, kZmm, 3},
    {"avx512_bf16", 7, 1, &CpuidRegisters::eax, 5, kZmm, 3},
    {"avx512_fp16", 7, 0, &CpuidRegisters::edx, 23, kZmm, 3},
    {"amx_tile", 7, 0, &CpuidRegisters::edx, 24, kTile, 3},
    {"amx_bf16", 7, 0, &CpuidRegisters::edx, 22, kTile, 3},
    {"amx_int8", 7, 0, &CpuidRegisters::edx, 25, kTile, 3},
};

int capability_of(const std::vector<std::string>& features) {
  const auto all = [&](auto... names) {
    return ((std::find(features.begin(), features.end(), names) != features.end()) && ...);
  };
  if (!all("avx2", "fma", "f16c")) return 1;
  return all("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl") ? 3 : 2;
}

std::string brand(const CpuidSource& source) {
  constexpr std::uint32_t kFirst = 0x80000002, kLast = 0x80000004;
  if (source.cpuid(0x80000000, 0).eax < kLast) return "unknown processor";
  std::array<char, 48> text{};
  for (std::uint32_t leaf = kFirst; leaf <= kLast; ++leaf) {
    const CpuidRegisters r = source.cpuid(leaf, 0);
    const std::uint32_t words[] = {r.eax, r.ebx, r.ecx, r.edx};
    std::memcpy(text.data() + (leaf - kFirst) * sizeof words, words, sizeof words);
  }
  return std::string(trim({text.data(), strnlen(text.data(), text.size())}));
}

}  // namespace

CpuidSource host_cpuid() {
#if defined(__x86_64__)
  return {[](std::uint32_t leaf, std::uint32_t subleaf) {
            CpuidRegisters r;
            __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
            return r;
          },
          []() -> std::uint64_t {
            std::uint32_t low = 0, high = 0;
            __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
            return (std::uint64_t{high} << 32) | low;
          }};
#else
  return {[](std::uint32_t, std::uint32_t) { return CpuidRegisters{}; },
          [] { return std::uint64_t{0}; }};
#endif
}

CpuFeatures probe_cpu(const CpuidSource& source) {
  constexpr std::uint32_t kOsxsave = 1U << 27;
  CpuFeatures result;
  result.model = brand(source);
  const std::uint32_t last_leaf = source.cpuid(0, 0).eax;
  if (last_leaf < 1) return result;
  const std::uint64_t state = (source.cpuid(1, 0).ecx & kOsxsave) != 0 ? source.xcr0() : 0;
  const std::uint32_t last_subleaf_of_7 = last_leaf >= 7 ? source.cpuid(7, 0).eax : 0;
  for (const Feature& feature : kFeatures) {
    if (feature.leaf > last_leaf || (feature.subleaf > last_subleaf_of_7)) continue;
    const CpuidRegisters r = source.cpuid(feature.leaf, feature.subleaf);
    if ((r.*feature.reg >> feature.bit & 1U) == 0) continue;
    if ((state & feature.state) == feature.state) result.features.emplace_back(feature.name);
  }
  result.capability = capability_of(result.features);
  return result;
}

CpuFeatures capped(CpuFeatures features, int max_capability) {
  std::erase_if(features.features, [&](const std::string& name) {
    const auto* feature = std::find_if(std::begin(kFeatures), std::end(kFeatures),
                                       [&](const Feature& f) { return f.name == name; });
    return feature != std::end(kFeatures) && feature->capability > max_capability;
  });
  features.capability = capability_of(features.features);
  return features;
}

}  // namespace kw::runtime
