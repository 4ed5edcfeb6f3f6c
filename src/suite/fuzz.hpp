// SPDX-License-Identifier: Apache-2.0
// Random legal problems, made from the contract's table alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernelwright/core/contract.hpp"
#include "kernelwright/suite/case.hpp"
#include "kernelwright/suite/random.hpp"

namespace kw::suite {

class ProblemFuzzer {
 public:
  // `variants`: indices to draw from; empty: all.
  ProblemFuzzer(const Contract& contract, std::vector<int> variants)
      : contract_(contract), variants_(std::move(variants)) {}

  // The problem of `seed`: the same on every machine. Nothing when this draw breaks `constrain` or
  // another rule of the contract; then take the next seed.
  std::optional<Problem> draw(std::uint64_t seed) const;

 private:
  const Contract& contract_;
  std::vector<int> variants_;
};

// A problem, a fill and a data seed from one number.
std::optional<Case> fuzz_case(const ProblemFuzzer& fuzzer, std::uint64_t seed);

}  // namespace kw::suite
