// SPDX-License-Identifier: Apache-2.0
// The self-test's probes under the names that tests of the suite use.
#pragma once

#include "kernelwright/suite/selftest/probe.hpp"

namespace kw::test {

using suite::AffineArgs;
using suite::AffineBackwardArgs;
using suite::Sabotage;

inline Implementation toy_affine(Sabotage sabotage) { return suite::probe_affine(sabotage); }
inline void add_toy_operations(Catalog& catalog, Sabotage sabotage = Sabotage::kNone) {
  suite::add_probes(catalog, sabotage);
}

}  // namespace kw::test
