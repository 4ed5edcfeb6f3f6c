// SPDX-License-Identifier: Apache-2.0
// Why an implementation is or is not used: every candidate with each gate's verdict, as a value;
// the CLI and Python print it as table or JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernelwright/core/context.hpp"

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
};

// With no problem: per variant, the first candidate that `auto` tries. Never touches a device.
Explanation explain(const Context& context, std::string_view operation, std::string_view variant);
Explanation explain(const Context& context, const Problem& problem);

}  // namespace kw
