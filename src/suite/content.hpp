// SPDX-License-Identifier: Apache-2.0
// Contents of index-like inputs. What a value may be follows from the class that the contract (or
// the problem, behind ~) names: "permutation", or one with a bound, "expert_id<E>", where E is a
// symbol of the contract.
//   permutation   every value below the number of elements, once
//   offsets<N>    0, rising, N
//   slot<N>       values below N, no two alike
//   expert_id<N>, label<N>, index<N>    values below N
#pragma once

#include <cstdint>
#include <string>

#include "kernelwright/suite/fill.hpp"
#include "kernelwright/suite/operand.hpp"

namespace kw::suite {

enum class ContentClass : std::uint8_t { kPermutation, kOffsets, kSlot, kBounded };

struct Content {
  ContentClass kind = ContentClass::kBounded;
  std::int64_t bound = 1;  // values are below it; offsets end with it
};

// The class of `operand`, an integer input. Throws Error(kUnsupported) for one that is not known,
// or whose bound is no symbol of the problem.
Content content_of(const Problem& problem, const Operand& operand);
// Empty: not index-like.
const std::string& content_text(const Problem& problem, const Operand& operand) noexcept;

// Writes the elements of `view`: random under every fill but `zeros` (all 0) and `const` (all the
// last one), where the class leaves a choice.
void fill_content(const TensorView& view, const Content& content, const FillKey& key);

}  // namespace kw::suite
