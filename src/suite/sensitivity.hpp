// SPDX-License-Identifier: Apache-2.0
// How far arithmetic of finite precision may be off where terms cancel: what the oracle's outputs
// do when its inputs move by a unit roundoff.
#pragma once

#include <span>
#include <vector>

#include "kernelwright/suite/oracle.hpp"

namespace kw::suite {

// Per operand of `problem` (all f64), for written ones the absolute change of each element; empty
// vectors when the problem is too large to afford the runs. `exact` are the results for `inputs`.
// Inputs move one after the other and changes add up, so that nothing cancels by luck; of large
// problems all move at once. What a forward could have saved moves as well, even if this call
// recomputes it: that is where a backward's cancellation shows.
std::vector<std::vector<double>> sensitivity(const Problem& problem,
                                             std::span<const std::vector<double>> inputs,
                                             std::vector<DenseTensor>& exact, double step,
                                             const Catalog& catalog);

}  // namespace kw::suite
