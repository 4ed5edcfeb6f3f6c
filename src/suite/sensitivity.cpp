// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/sensitivity.hpp"

#include <algorithm>
#include <cmath>

#include "kernelwright/suite/forward_link.hpp"
#include "kernelwright/suite/random.hpp"

namespace kw::suite {
namespace {

// Elements of a problem up to which every input moves in a run of its own, and up to which they
// move at all.
constexpr std::int64_t kOneByOne = 1 << 21;
constexpr std::int64_t kAtAll = 1 << 23;

// The problem with every saved output present, and its inputs.
struct Probed {
  Problem problem;
  std::vector<std::vector<double>> inputs;
  bool extended = false;
};

Probed with_saved_outputs(const Problem& problem, std::span<const std::vector<double>> inputs,
                          const Catalog& catalog) {
  Probed probed{problem, {inputs.begin(), inputs.end()}, false};
  const Operation* forward = find_forward(catalog, problem.operation());
  if (forward == nullptr) return probed;
  std::vector<SavedOutput> saved = run_forward(*forward, problem, inputs, catalog);
  for (const SavedOutput& output : saved) {
    TensorSpec& spec = probed.problem.values[output.parameter].tensor;
    if (spec.present) continue;
    spec = output.tensor.spec();
    probed.extended = true;
  }
  if (!probed.extended) return probed;
  check(probed.problem);
  const std::vector<Operand> before = operands_of(problem), after = operands_of(probed.problem);
  probed.inputs.assign(after.size(), {});
  for (std::size_t i = 0; i < after.size(); ++i) {
    for (std::size_t j = 0; j < before.size(); ++j) {
      if (before[j].name == after[i].name) probed.inputs[i] = inputs[j];
    }
    for (SavedOutput& output : saved) {
      if (output.parameter != after[i].parameter || !probed.inputs[i].empty()) continue;
      const auto values = output.tensor.values();
      probed.inputs[i].assign(values.begin(), values.end());
    }
  }
  return probed;
}

// Half the spacing of subnormal float32 numbers: what they lose whatever their size.
constexpr double kSmallestStep = 0x1p-150;

void move(std::vector<double>& values, const Operand& operand, double step) {
  const std::uint64_t key = mix64(name_hash(operand.name));
  const double smallest = step >= 0x1p-24 ? kSmallestStep : 0;
  for (std::size_t e = 0; e < values.size(); ++e) {
    if (values[e] == 0) continue;
    const double change = std::max(std::fabs(values[e]) * step, smallest);
    values[e] += (mix64(key ^ e) & 1U) != 0 ? change : -change;
  }
}

// Adds the changes of written operands, in their order.
void add_changes(const std::vector<Operand>& operands, std::vector<DenseTensor>& base,
                 std::vector<DenseTensor>& moved, std::vector<std::vector<double>>& changes) {
  std::size_t written = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].is_written()) continue;
    const std::span<const double> a = base[i].values(), b = moved[i].values();
    std::vector<double>& sum = changes[written++];
    sum.resize(a.size(), 0.0);
    for (std::size_t e = 0; e < a.size(); ++e) {
      const double change = std::fabs(a[e] - b[e]);
      if (std::isfinite(change)) sum[e] += change;
    }
  }
}

}  // namespace

std::vector<std::vector<double>> sensitivity(const Problem& problem,
                                             std::span<const std::vector<double>> inputs,
                                             std::vector<DenseTensor>& exact, double step,
                                             const Catalog& catalog) {
  const std::vector<Operand> own = operands_of(problem);
  std::vector<std::vector<double>> result(own.size());
  std::int64_t elements = 0;
  for (const Operand& operand : own) elements += operand.spec.numel();
  if (elements == 0 || elements > kAtAll) return result;

  const Oracle oracle(catalog);
  const Probed probed = with_saved_outputs(problem, inputs, catalog);
  const std::vector<Operand> operands = operands_of(probed.problem);
  std::vector<DenseTensor> base;
  if (probed.extended) base = oracle.run(probed.problem, probed.inputs);
  std::vector<std::vector<double>> changes(own.size());
  const auto run = [&](const std::vector<std::vector<double>>& moved) {
    std::vector<DenseTensor> results = oracle.run(probed.problem, moved);
    add_changes(operands, probed.extended ? base : exact, results, changes);
  };
  std::vector<std::vector<double>> moved = probed.inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].is_read() || operands[i].spec.dtype != DType::kF64) continue;
    move(moved[i], operands[i], step);
    if (elements > kOneByOne) continue;
    run(moved);
    moved[i] = probed.inputs[i];
  }
  if (elements > kOneByOne) run(moved);

  std::size_t written = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].is_written()) result[i] = std::move(changes[written++]);
  }
  return result;
}

}  // namespace kw::suite
