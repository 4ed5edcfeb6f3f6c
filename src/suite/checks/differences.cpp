// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/checks/differences.hpp"

#include <algorithm>
#include <cmath>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/suite/fill.hpp"
#include "kernelwright/suite/forward_link.hpp"
#include "kernelwright/suite/inputs.hpp"
#include "kernelwright/suite/oracle.hpp"

namespace kw::suite {
namespace {

// Truncation h^2 and cancellation 2^-52 / h meet near 1e-5; both are then about 1e-10, but for
// functions that bend at that scale, as a normalised row of one element does near 0. Two steps
// tell.
constexpr double kStep = 1e-5, kTolerance = 1e-7;

std::vector<double> random_values(const Operand& operand, std::uint64_t seed) {
  std::vector<double> values(static_cast<std::size_t>(operand.spec.numel()));
  const FillKey key{Fill::kNormal, seed, operand.name, 1, 0};
  fill_values(DType::kF64, key, operand.spec.numel(), 0, operand.spec.numel(), values.data());
  return values;
}

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

const Operand* find(const std::vector<Operand>& operands, std::string_view name) {
  for (const Operand& operand : operands) {
    if (operand.name == name) return &operand;
  }
  return nullptr;
}

}  // namespace

bool GradientCheck::passed() const noexcept {
  return std::fabs(difference - derivative) <=
         2 * bend + kTolerance * std::max({1.0, std::fabs(difference), std::fabs(derivative)});
}

std::vector<GradientCheck> check_gradients(const Problem& backward, const Catalog& catalog,
                                           std::uint64_t seed) {
  const Operation* const forward = find_forward(catalog, backward.operation());
  if (forward == nullptr) {
    fail(Code::kInvalidArgument, "'{}' is the backward of no operation in the catalog",
         backward.operation());
  }
  const Problem wide = in_f64(backward);
  const std::vector<Operand> operands = operands_of(wide);
  std::vector<std::vector<double>> inputs(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].is_read()) inputs[i] = random_values(operands[i], seed);
  }
  const auto index_of = [&](const Operand& operand) {
    return static_cast<std::size_t>(&operand - operands.data());
  };
  for (const SavedOutput& saved : run_forward(*forward, wide, inputs, catalog)) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].parameter != saved.parameter) continue;
      DenseTensor values = saved.tensor;
      const auto elements = values.values();
      inputs[i].assign(elements.begin(), elements.end());
    }
  }
  std::vector<DenseTensor> gradients = Oracle(catalog).run(wide, inputs);

  // The forward with its main outputs, on the same inputs but for one.
  const Problem call = main_forward(*forward->contract, wide);
  const std::vector<Operand> forward_operands = operands_of(call);
  const auto loss = [&](std::string_view moved, const std::vector<double>& values) {
    std::vector<std::vector<double>> given(forward_operands.size());
    for (std::size_t i = 0; i < forward_operands.size(); ++i) {
      if (!forward_operands[i].is_read()) continue;
      const Operand* const same = find(operands, forward_operands[i].name);
      if (same != nullptr)
        given[i] = forward_operands[i].name == moved ? values : inputs[index_of(*same)];
    }
    std::vector<DenseTensor> results = Oracle(catalog).run(call, given);
    double sum = 0;
    for (std::size_t i = 0; i < forward_operands.size(); ++i) {
      const Operand* const upstream = find(operands, "d" + forward_operands[i].name);
      if (forward_operands[i].is_written() && upstream != nullptr && upstream->is_read())
        sum += dot(results[i].values(), inputs[index_of(*upstream)]);
    }
    return sum;
  };

  std::vector<GradientCheck> checks;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].is_written() || operands[i].name.front() != 'd') continue;
    const Operand* const input = find(operands, operands[i].name.substr(1));
    if (input == nullptr || !input->is_read()) continue;
    const std::vector<double> direction = random_values(*input, seed + 1);
    const auto along = [&](double step) {
      std::vector<double> ahead = inputs[index_of(*input)], behind = ahead;
      for (std::size_t e = 0; e < direction.size(); ++e) {
        ahead[e] += step * direction[e];
        behind[e] -= step * direction[e];
      }
      return (loss(input->name, ahead) - loss(input->name, behind)) / (2 * step);
    };
    const double wide_step = along(kStep), narrow_step = along(kStep / 2);
    checks.push_back({input->name, operands[i].name, narrow_step,
                      dot(gradients[i].values(), direction), std::fabs(wide_step - narrow_step)});
  }
  return checks;
}

}  // namespace kw::suite
