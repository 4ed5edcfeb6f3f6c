// SPDX-License-Identifier: Apache-2.0
// Who knows whether a plan passed numerics: asked once per plan, before it is published, where the
// settings require evidence. The answers are the suite's, which core does not know.
#pragma once

#include <string>

#include "kernelwright/core/implementation.hpp"

namespace kw {

// One plan, and what it was built from.
struct EvidenceQuery {
  const Implementation& implementation;
  const Problem& problem;  // may have free dimensions
  const Specialization& specialization;
  const CfgPins& pins;
  const PlanFacts& facts;
  const Hardware& hardware;
  Mode mode = Mode::kEager;
};

struct EvidenceAnswer {
  bool found = false;
  // What was stored, "batch ci, 93 cases, 2026-11-30T12:00:00Z"; or why that does not do or what
  // is missing, and the command that would show it.
  std::string text;
};

class EvidenceGate {
 public:
  virtual ~EvidenceGate() = default;
  // Whether such plans are known to have passed on such hardware. Callable from any thread.
  virtual EvidenceAnswer look_up(const EvidenceQuery& query) const = 0;
};

}  // namespace kw
