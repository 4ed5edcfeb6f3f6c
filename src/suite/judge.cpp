// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/judge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/forward_link.hpp"
#include "kernelwright/suite/sensitivity.hpp"

namespace kw::suite {
namespace {

// Fewer elements cannot tell a copied or shuffled output from the right one.
constexpr std::int64_t kMinTrustElements = 64;
constexpr std::int64_t kMinEagerElements = 4096;  // chance then moves a ratio of errors by 1 %

// Longest sum behind an element of `output`: the product of an input's dimensions whose symbols the
// output does not have. Batch dimensions count apart.
std::int64_t reduction_length(const Problem& problem, const Parameter& output) {
  const auto in_output = [&](const std::string& symbol) {
    return std::any_of(output.shape.dims.begin(), output.shape.dims.end(),
                       [&](const Dim& dim) { return dim.s == symbol || dim.t == symbol; });
  };
  std::int64_t longest = 1;
  for (const Operand& operand : operands_of(problem)) {
    const Parameter& parameter = problem.contract->parameters[operand.parameter];
    if (!operand.is_read()) continue;
    const std::size_t batch_rank =
        static_cast<std::size_t>(operand.spec.rank) - parameter.shape.dims.size();
    std::int64_t length = 1;
    for (std::size_t d = 0; d < parameter.shape.dims.size(); ++d) {
      const std::string& symbol = parameter.shape.dims[d].s;
      if (!symbol.empty() && !in_output(symbol))
        length *= std::max<std::int64_t>(operand.spec.sizes[batch_rank + d], 1);
    }
    longest = std::max(longest, length);
  }
  return longest;
}

// Whether indices of an input share elements, so that rows repeat.
bool repeats_elements(const Problem& problem) {
  const auto operands = operands_of(problem);
  return std::any_of(operands.begin(), operands.end(), [](const Operand& operand) {
    return operand.is_read() && !operand.spec.contiguous &&
           self_overlaps(view_of(operand.spec, nullptr));
  });
}

// Mantissas that the narrowest floating-point input can have: 128 for bf16.
double mantissas_of_inputs(const std::vector<Operand>& operands) {
  double least = 0x1p23;
  for (const Operand& operand : operands) {
    if (!operand.is_read() || !is_float(operand.spec.dtype)) continue;
    const double one_ulp = float_format(operand.spec.dtype).ulp(1);
    least = std::min(least, 1 / one_ulp);
  }
  return least;
}

// Where the right output is all zeros or not a number, zeros are right, and there is no size to
// measure errors in.
bool has_magnitude(std::span<const double> exact) {
  return std::any_of(exact.begin(), exact.end(),
                     [](double value) { return value != 0 && std::isfinite(value); });
}

// The smallest error, in thresholds, of outputs that are wrong on purpose.
double trust_in(const Operand& operand, const std::vector<Operand>& operands,
                const std::vector<std::vector<double>>& inputs, std::span<const double> exact,
                std::int64_t width, bool independent, const Gates& gates) {
  std::vector<double> fake(exact.size(), 0.0);
  double trust = trust_of(fake, exact, gates);
  if (static_cast<std::int64_t>(exact.size()) < kMinTrustElements || !independent || width < 8)
    return trust;
  const auto shift =
      static_cast<std::ptrdiff_t>(static_cast<std::int64_t>(exact.size()) > width ? width : 1);
  std::rotate_copy(exact.begin(), exact.begin() + shift, exact.end(), fake.begin());
  trust = std::min(trust, trust_of(fake, exact, gates));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].is_read() || operands[i].role == Role::kMutated ||
        operands[i].spec.dtype != operand.spec.dtype || inputs[i].size() != exact.size())
      continue;
    trust = std::min(trust, trust_of(inputs[i], exact, gates));
  }
  return trust;
}

// Where there are enough elements for a ratio of two errors to mean something.
// Not where terms cancel, so that what inputs leave open outweighs rounding: a gradient that is
// zero but for that is a billion times as far off in float as in double.
double versus_eager(const OutputMetrics& metrics, const Gates& gates, std::span<const double> exact,
                    std::span<const double> steps) {
  const bool cancels = metrics.tensor_limit > 2 * gates.tensor_c * gates.floor;
  if (metrics.elements < kMinEagerElements || cancels) return 0;
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (!std::isfinite(exact[i]) || !std::isfinite(steps[i])) continue;
    error += (steps[i] - exact[i]) * (steps[i] - exact[i]);
    norm += exact[i] * exact[i];
  }
  return error > 0 && norm > 0 ? metrics.unrounded_nrmse / std::sqrt(error / norm) : 0;
}

}  // namespace

OutputTraits traits_of(const Case& spec, const Operand& operand, const Catalog& catalog) {
  const Problem& problem = spec.problem;
  const Parameter& parameter = problem.contract->parameters[operand.parameter];
  OutputTraits traits;
  traits.tolerance = parameter.tolerance.value_or(
      problem.contract->variants[static_cast<std::size_t>(problem.variant)].tolerance);
  traits.dtype = operand.spec.dtype;
  traits.width = std::max(row_width(parameter, operand.spec), reduction_length(problem, parameter));
  traits.summed_rows =
      !parameter.shape.batch && has_batch(problem) ? std::max<std::int64_t>(problem.rows(), 1) : 1;
  traits.gradient = find_forward(catalog, problem.operation()) != nullptr;
  traits.random = is_random(spec.fill) && !repeats_elements(problem);
  traits.exact_inputs = spec.fill == Fill::kExactInt;
  return traits;
}

Judgement judge_outputs(const Case& spec, PlacedTensors& placed,
                        const std::vector<std::vector<double>>& inputs, const Catalog& catalog,
                        const std::function<bool(const Operand&)>& judged) {
  const Problem& problem = spec.problem;
  const auto wanted = [&](const Operand& operand) {
    return operand.is_written() && (!judged || judged(operand));
  };
  const std::vector<Operand>& operands = placed.operands();
  std::vector<OutputTraits> traits(operands.size());
  std::vector<Gates> gates(operands.size());
  bool needs_steps = false, needs_sensitivity = false;
  double step = 0x1p-24;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!wanted(operands[i])) continue;
    traits[i] = traits_of(spec, operands[i], catalog);
    gates[i] = gates_for(traits[i]);
    needs_steps |= gates[i].bitwise || gates[i].against_steps;
    needs_sensitivity |= !gates[i].bitwise && !gates[i].bitwise_value;
    if (gates[i].arithmetic > 0) step = gates[i].arithmetic;
  }

  const Oracle oracle(catalog);
  const Problem wide = in_f64(problem);
  std::vector<DenseTensor> exact = oracle.run(wide, inputs);
  std::vector<DenseTensor> steps;
  if (needs_steps) steps = oracle.run(dense(problem), inputs);
  std::vector<std::vector<double>> sensitivity(operands.size());
  if (needs_sensitivity) sensitivity = suite::sensitivity(wide, inputs, exact, step, catalog);

  Judgement judgement;
  double trust = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    if (!wanted(operand)) continue;
    if (gates[i].bitwise) {
      const std::vector<std::byte> got = placed[i].element_bytes();
      auto failures =
          compare_bytes(operand.name, got, steps[i].bytes(), dtype_bytes(operand.spec.dtype));
      if (failures.empty())
        failures.push_back({"oracle:" + operand.name, true, Reason::kNone, {}, {}});
      judgement.checks.insert(judgement.checks.end(), failures.begin(), failures.end());
      continue;
    }
    Expectation expectation;
    expectation.exact = exact[i].values();
    if (gates[i].against_steps) expectation.steps = steps[i].values();
    if (!sensitivity.empty()) expectation.sensitivity = sensitivity[i];
    expectation.row_width =
        row_width(problem.contract->parameters[operand.parameter], operand.spec);
    expectation.independent = traits[i].random;
    expectation.repeating = is_discrete(spec.fill);
    expectation.mantissas = mantissas_of_inputs(operands);
    Comparison comparison = compare(operand.name, placed[i].host_view(), expectation, gates[i]);
    if (comparison.failures.empty())
      judgement.checks.push_back({"oracle:" + operand.name, true, Reason::kNone, {}, {}});
    for (CheckResult& check : comparison.failures) {
      if (traits[i].gradient && check.reason == Reason::kNumericMismatch)
        check.reason = Reason::kGradient;
      judgement.checks.push_back(std::move(check));
    }
    if (is_random(spec.fill) && !gates[i].bitwise_value && operand.spec.numel() > 0 &&
        problem.rows() != 0 && has_magnitude(expectation.exact)) {
      comparison.metrics.trust = trust_in(operand, operands, inputs, expectation.exact,
                                          expectation.row_width, expectation.independent, gates[i]);
      trust = std::min(trust, comparison.metrics.trust);
    }
    if (is_random(spec.fill) && comparison.failures.empty() && traits[i].random &&
        dtype_bytes(operand.spec.dtype) == 2 && !gates[i].bitwise_value) {
      if (steps.empty()) steps = oracle.run(dense(problem), inputs);
      comparison.metrics.versus_eager =
          versus_eager(comparison.metrics, gates[i], expectation.exact, steps[i].values());
      if (comparison.metrics.versus_eager > kMaxVersusEager) {
        judgement.checks.push_back(
            {"eager:" + operand.name,
             false,
             Reason::kNumericMismatch,
             fmt::format("{:.2f} times the error of plain code of the same precision; {:.2f} is "
                         "allowed",
                         comparison.metrics.versus_eager, kMaxVersusEager),
             {}});
      }
    }
    judgement.outputs.push_back(std::move(comparison.metrics));
  }
  if (trust < std::numeric_limits<double>::infinity()) {
    judgement.trust = trust;
    if (trust < kMinTrust) {
      judgement.checks.push_back(
          {"trust",
           false,
           Reason::kMistrustedOracle,
           fmt::format("a zero, copied or permuted output is only {:.3g} thresholds wrong here; "
                       "{:.0f} are needed to trust a pass",
                       trust, kMinTrust),
           {}});
    } else {
      judgement.checks.push_back({"trust", true, Reason::kNone, {}, {{"trust", trust}}});
    }
  }
  return judgement;
}

}  // namespace kw::suite
