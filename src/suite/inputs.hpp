// SPDX-License-Identifier: Apache-2.0
// Placed tensors of one case with their contents: random inputs by fill, and, for a backward
// operation, those inputs that its forward would have saved.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernelwright/core/catalog.hpp"
#include "kernelwright/suite/case.hpp"
#include "kernelwright/suite/content.hpp"
#include "kernelwright/suite/fill.hpp"
#include "kernelwright/suite/guarded_tensor.hpp"
#include "kernelwright/suite/oracle.hpp"

namespace kw::suite {

// The tensors of a problem in guarded memory of a device, parallel to operands_of(problem).
class PlacedTensors {
 public:
  // `key` seeds the canaries; `shift`, a multiple of 16, moves every base within its alignment.
  PlacedTensors(runtime::Device& device, const Problem& problem, std::uint64_t key,
                std::int64_t shift = 0);

  const std::vector<Operand>& operands() const noexcept { return operands_; }
  std::vector<GuardedTensor>& tensors() noexcept { return tensors_; }
  GuardedTensor& operator[](std::size_t i) noexcept { return tensors_[i]; }
  const GuardedTensor& operator[](std::size_t i) const noexcept { return tensors_[i]; }
  std::vector<TensorView> views() const;

 private:
  std::vector<Operand> operands_;
  std::vector<GuardedTensor> tensors_;
};

// How one read operand gets its contents.
struct InputSource {
  std::size_t operand = 0;         // index
  bool linked = false;             // an output that the forward saved; otherwise by `key`
  std::optional<Content> content;  // of an index-like input: by this and `key`
  FillKey key;                     // its name is that of the operand, borrowed
};

// Operands without rows keep `normal` under row fills. Throws Error(kUnsupported) for contents that
// the suite cannot make.
std::vector<InputSource> input_sources(const std::vector<Operand>& operands, const Problem& problem,
                                       Fill fill, std::uint64_t seed, const Catalog& catalog);

// Writes the elements of one operand that is not linked.
void fill_by_key(const TensorView& view, const InputSource& source);

// Writes the host images of all read operands.
void fill_inputs(PlacedTensors& placed, const Problem& problem, Fill fill, std::uint64_t seed,
                 const Catalog& catalog);

// The same for a case, whose contents may have been recorded. Throws Error(kInvalidArgument) when
// they are not those of this problem.
void fill_inputs(PlacedTensors& placed, const Case& spec, const Catalog& catalog);

// Elements of every read operand as doubles; empty vectors for outputs.
std::vector<std::vector<double>> read_inputs(PlacedTensors& placed);

}  // namespace kw::suite
