// SPDX-License-Identifier: Apache-2.0
// The instruction-set probe on machines that this one is not.
#include "kernelwright/backend/cpu/cpu_features.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace kw::runtime {
namespace {

constexpr std::uint64_t kYmmState = 0x7, kZmmState = 0xe7, kTileState = 0x600e7;

// A processor with AVX-512 (server class), under an OS that saves everything.
struct Machine {
  std::map<std::pair<std::uint32_t, std::uint32_t>, CpuidRegisters> leaves;
  std::uint64_t xcr0 = kTileState;
  bool xcr0_asked = false;

  Machine() {
    leaves[{0, 0}].eax = 7;
    leaves[{1, 0}].ecx =
        1U << 12 | 1U << 20 | 1U << 27 | 1U << 28 | 1U << 29;  // fma, sse4.2, osxsave, avx, f16c
    leaves[{7, 0}] = {1, 1U << 5 | 1U << 8 | 1U << 16 | 1U << 17 | 1U << 28 | 1U << 30 | 1U << 31,
                      1U << 11, 1U << 22 | 1U << 24 | 1U << 25};
    leaves[{7, 1}].eax = 1U << 5;  // avx512_bf16
    leaves[{0x80000000, 0}].eax = 0x80000008;
    const char name[48] = "   Some Processor @ 2.50GHz";
    for (std::uint32_t i = 0; i < 3; ++i) {
      std::memcpy(&leaves[{0x80000002 + i, 0}], name + 16 * i, 16);
    }
  }

  CpuFeatures probe() {
    return probe_cpu({[this](std::uint32_t leaf, std::uint32_t subleaf) {
                        const auto found = leaves.find({leaf, subleaf});
                        return found == leaves.end() ? CpuidRegisters{} : found->second;
                      },
                      [this] {
                        xcr0_asked = true;
                        return xcr0;
                      }});
  }
};

bool has(const CpuFeatures& features, std::string_view name) {
  return std::find(features.features.begin(), features.features.end(), name) !=
         features.features.end();
}

TEST(CpuFeatures, OfAFullMachine) {
  const CpuFeatures features = Machine().probe();
  EXPECT_EQ(features.model, "Some Processor @ 2.50GHz");
  EXPECT_EQ(features.capability, 3);
  EXPECT_EQ(features.features,
            (std::vector<std::string>{"sse4_2", "avx", "f16c", "fma", "avx2", "bmi2", "avx512f",
                                      "avx512dq", "avx512cd", "avx512bw", "avx512vl", "avx512_vnni",
                                      "avx512_bf16", "amx_tile", "amx_bf16", "amx_int8"}));
}

TEST(CpuFeatures, CountOnlyIfTheOsSavesTheRegisters) {
  Machine machine;
  machine.xcr0 = kZmmState;
  EXPECT_EQ(machine.probe().capability, 3);
  EXPECT_FALSE(has(machine.probe(), "amx_tile"));
  machine.xcr0 = kYmmState;
  EXPECT_EQ(machine.probe().capability, 2);
  EXPECT_FALSE(has(machine.probe(), "avx512f"));
  machine.xcr0 = 0x67;  // masks and low ZMM only
  EXPECT_EQ(machine.probe().capability, 2);
  machine.xcr0 = 0x3;
  EXPECT_EQ(machine.probe().capability, 1);
  EXPECT_TRUE(has(machine.probe(), "sse4_2"));
}

TEST(CpuFeatures, AskForSavedStateOnlyWhenTheOsSwitchedItOn) {
  Machine machine;
  machine.leaves[{1, 0}].ecx &= ~(1U << 27);
  EXPECT_EQ(machine.probe().capability, 1);
  EXPECT_FALSE(machine.xcr0_asked) << "xgetbv would be an illegal instruction";
}

TEST(CpuFeatures, EachPartOfALevelIsNeeded) {
  for (const int bit : {16, 17, 28, 30, 31}) {
    Machine machine;
    machine.leaves[{7, 0}].ebx &= ~(1U << bit);
    EXPECT_EQ(machine.probe().capability, 2) << bit;
  }
  for (const int bit : {12, 29}) {
    Machine machine;
    machine.leaves[{1, 0}].ecx &= ~(1U << bit);
    EXPECT_EQ(machine.probe().capability, 1) << bit;
  }
}

TEST(CpuFeatures, OfOldMachinesAskNoLeafThatIsNotThere) {
  Machine machine;
  machine.leaves[{0, 0}].eax = 1;
  machine.leaves[{0x80000000, 0}].eax = 0x80000001;
  const CpuFeatures features = machine.probe();
  EXPECT_EQ(features.capability, 1);
  EXPECT_EQ(features.model, "unknown processor");
  EXPECT_FALSE(has(features, "avx2"));

  Machine no_subleaf;
  no_subleaf.leaves[{7, 0}].eax = 0;
  EXPECT_FALSE(has(no_subleaf.probe(), "avx512_bf16"));
}

TEST(CpuFeatures, CapTakesAwayWhatLiesAbove) {
  const CpuFeatures full = Machine().probe();
  const CpuFeatures avx2 = capped(full, 2);
  EXPECT_EQ(avx2.capability, 2);
  EXPECT_EQ(avx2.features,
            (std::vector<std::string>{"sse4_2", "avx", "f16c", "fma", "avx2", "bmi2"}));
  EXPECT_EQ(capped(full, 1).features, (std::vector<std::string>{"sse4_2"}));
  EXPECT_EQ(capped(full, 1).capability, 1);
  EXPECT_EQ(capped(avx2, 3).capability, 2);
}

}  // namespace
}  // namespace kw::runtime
