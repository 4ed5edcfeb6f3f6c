// SPDX-License-Identifier: Apache-2.0
// Values of one call against the oracle: picks gates from the contract, runs the reference as often
// as they need it, compares every written operand, and measures trust.
#pragma once

#include <functional>
#include <vector>

#include "kernelwright/suite/case.hpp"
#include "kernelwright/suite/inputs.hpp"

namespace kw::suite {

struct Judgement {
  std::vector<CheckResult> checks;
  std::vector<OutputMetrics> outputs;
  double trust = 0;  // smallest; 0: not measured
};

// What the thresholds of operand `operand` follow from.
OutputTraits traits_of(const Case& spec, const Operand& operand, const Catalog& catalog);

// `placed` holds the outputs of the call; `inputs` what it read, per operand. Outputs that `judged`
// denies are left out; empty: none are.
Judgement judge_outputs(const Case& spec, PlacedTensors& placed,
                        const std::vector<std::vector<double>>& inputs, const Catalog& catalog,
                        const std::function<bool(const Operand&)>& judged = {});

}  // namespace kw::suite
