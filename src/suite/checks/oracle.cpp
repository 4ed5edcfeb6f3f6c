// SPDX-License-Identifier: Apache-2.0
// Whether the oracle of a backward operation is the derivative of the forward's.
#include <fmt/core.h>

#include "kernelwright/suite/checks/class_checks.hpp"
#include "kernelwright/suite/checks/differences.hpp"
#include "kernelwright/suite/forward_link.hpp"

namespace kw::suite {

void ClassChecks::oracle() {
  if (find_forward(platform_.catalog, problem_.operation()) == nullptr) return;
  const bool large = has_batch(problem_) && problem_.symbols.batch.front() > 2;
  const Problem few = large ? batch_prefix(problem_, 2) : problem_;
  for (const GradientCheck& check : check_gradients(few, platform_.catalog, spec_.seed)) {
    if (check.passed()) continue;
    return reject("oracle", Reason::kMistrustedOracle,
                  fmt::format("the reference says {} = {:.9g} along a direction of {}; finite "
                              "differences of the forward's reference say {:.9g}",
                              check.gradient, check.derivative, check.input, check.difference));
  }
  pass("oracle");
}

}  // namespace kw::suite
