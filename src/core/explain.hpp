// SPDX-License-Identifier: Apache-2.0
// Why an implementation is or is not used: every candidate with each gate's verdict, as a value;
// the CLI and Python print it as table or JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernelwright/core/context.hpp"
#include "kernelwright/core/evidence.hpp"

namespace kw {

struct ExplainPart {  // one other operation of a composed implementation
  std::string problem, implementation;
  std::vector<ExplainPart> parts;
};

struct Explanation {
  std::string operation, variant, problem;  // problem empty: explained without one
  std::string device, mode;
  Choice choice;
  std::vector<Choice> history;
  std::string selected;           // "" when nothing serves
  std::string specialization;     // Cfg text, with a problem only
  std::string geometry;           // whence that Cfg's geometry; "" where there is one way
  std::vector<Verdict> verdicts;  // one per implementation of the operation, in rank order
  std::vector<ExplainPart> parts;
  bool require_evidence = false;
  std::string require_evidence_origin;
  std::optional<EvidenceAnswer> evidence;  // of the plan; once look_up_evidence() asked for it
};

// With no problem: per variant, the first candidate that `auto` tries. Never touches a device.
Explanation explain(const Context& context, std::string_view operation, std::string_view variant);
Explanation explain(const Context& context, const Problem& problem);
// Whether the plan that serves `problem` has evidence, if one does. Builds it, and so may compile
// and load; what fails there is the answer.
void look_up_evidence(Context& context, DevicePort& device, const Problem& problem,
                      Explanation& explanation);

}  // namespace kw
