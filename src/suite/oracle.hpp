// SPDX-License-Identifier: Apache-2.0
// What the outputs should be, from an operation's `reference` implementation: run on inputs upcast
// to f64 (unrounded mathematics), run at the problem's own dtypes (every rounding of the variant),
// and run on slightly moved inputs (how far arithmetic of finite precision can be off).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernelwright/core/catalog.hpp"
#include "kernelwright/suite/operand.hpp"

namespace kw::suite {

// A packed host tensor that owns its memory.
class DenseTensor {
 public:
  explicit DenseTensor(const TensorSpec& spec);

  const TensorSpec& spec() const noexcept { return spec_; }
  TensorView view() const noexcept { return view_of(spec_, const_cast<double*>(storage_.data())); }
  std::int64_t numel() const noexcept { return spec_.numel(); }
  std::span<const std::byte> bytes() const noexcept;
  // Without a copy for f64 tensors.
  std::span<const double> values();

 private:
  TensorSpec spec_;
  std::vector<double> storage_;  // sized in bytes; doubles for alignment and for values()
  std::vector<double> converted_;
};

// The same problem with packed tensors in f64: parameters whose dtype rule is, or derives from, a
// dtype symbol that admits f64. The others keep their dtype.
Problem in_f64(const Problem& problem);

// Whether numerics can judge `operation`: null, or what it lacks.
const Implementation* find_reference(const Operation& operation) noexcept;

// Runs references of the catalog on host memory.
class Oracle {
 public:
  explicit Oracle(const Catalog& catalog) : catalog_(catalog) {}

  // `inputs`: one vector per operand of `problem`, in logical order; those of outputs are ignored.
  // Returns a tensor per operand; written ones hold results. `problem` must be dense. Throws
  // Error(kUnsupported) without a reference, and what the reference reports.
  std::vector<DenseTensor> run(const Problem& problem,
                               std::span<const std::vector<double>> inputs) const;

 private:
  const Catalog& catalog_;
};

}  // namespace kw::suite
