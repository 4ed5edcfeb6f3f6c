// SPDX-License-Identifier: Apache-2.0
// What the processor and the operating system together let a kernel execute.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kw::runtime {

struct CpuidRegisters {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// The two questions a probe asks; tests answer them for machines that they are not.
struct CpuidSource {
  std::function<CpuidRegisters(std::uint32_t leaf, std::uint32_t subleaf)> cpuid;
  std::function<std::uint64_t()> xcr0;  // asked only when the OS has switched it on
};
CpuidSource host_cpuid();

struct CpuFeatures {
  std::string model;
  int capability = 1;                 // as Hardware::capability
  std::vector<std::string> features;  // in the words of /proc/cpuinfo: "avx2", "avx512_bf16"
};

// A feature counts only if the OS saves the registers that it needs. Off x86: capability 1, no
// features.
CpuFeatures probe_cpu(const CpuidSource& source);

// The same machine without what lies above `max_capability`.
CpuFeatures capped(CpuFeatures features, int max_capability);

}  // namespace kw::runtime
