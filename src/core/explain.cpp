// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/explain.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/core/binding.hpp"

namespace kw {
namespace {

Explanation describe(const Context& context, const OperationBinding& binding) {
  Explanation explanation;
  explanation.operation = binding.operation->contract->operation;
  explanation.variant = binding.variant_name();
  const Hardware& hardware = context.bindings().hardware;
  explanation.device = std::string(device_kind_name(hardware.kind)) + ":" +
                       std::to_string(hardware.index) + " " + hardware.model;
  explanation.mode = mode_name(context.bindings().mode);
  explanation.choice = binding.choice;
  explanation.history = binding.history;
  explanation.verdicts = binding.verdicts;
  explanation.require_evidence = context.settings().require_evidence;
  explanation.require_evidence_origin = context.settings().require_evidence_origin;
  return explanation;
}

// Device list first in rank order, then what is written for other devices or excluded.
void sort_by_rank(std::vector<Verdict>& verdicts) {
  std::stable_sort(verdicts.begin(), verdicts.end(), [](const Verdict& a, const Verdict& b) {
    return (a.rank == 0 ? 1 << 20 : a.rank) < (b.rank == 0 ? 1 << 20 : b.rank);
  });
}

std::vector<ExplainPart> explain_parts(const Context& context, const Implementation& implementation,
                                       const Problem& problem, const PartPath* path) {
  std::vector<ExplainPart> tree;
  if (implementation.info.parts == nullptr) return tree;
  const PartPath here{&implementation, path};
  for (const Problem& part : implementation.info.parts(problem, context.catalog())) {
    const OperationBinding* binding =
        context.bindings().find(part.operation(), part.variant_name());
    const Implementation* selected = binding == nullptr ? nullptr
                                                        : select(*binding, context.bindings(), part,
                                                                 context.catalog(), nullptr, &here);
    ExplainPart row{problem_text(part), selected == nullptr ? "" : selected->info.name, {}};
    if (selected != nullptr) row.parts = explain_parts(context, *selected, part, &here);
    tree.push_back(std::move(row));
  }
  return tree;
}

const OperationBinding& find_binding(const Context& context, std::string_view operation,
                                     std::string_view variant) {
  context.catalog().operation(operation).contract->variant_index(
      variant);  // throw, with the nearest name
  return *context.bindings().find(operation, variant);
}

}  // namespace

Explanation explain(const Context& context, std::string_view operation, std::string_view variant) {
  const OperationBinding& binding = find_binding(context, operation, variant);
  Explanation explanation = describe(context, binding);
  int rank_in_list = 0;
  for (const Implementation* candidate : binding.candidates) {
    int rank = 0;
    for (const Implementation& entry : binding.operation->implementations) {
      if (entry.info.device == candidate->info.device) ++rank;
      if (&entry == candidate) break;
    }
    const bool first = rank_in_list++ == 0;
    explanation.verdicts.push_back(
        {candidate->info.name, rank, first ? Gate::kSelected : Gate::kRank,
         first ? "tried first; a problem decides"
               : "tried after " + binding.candidates.front()->info.name});
  }
  if (!binding.candidates.empty()) explanation.selected = binding.candidates.front()->info.name;
  sort_by_rank(explanation.verdicts);
  return explanation;
}

Explanation explain(const Context& context, const Problem& problem) {
  const OperationBinding& binding =
      find_binding(context, problem.operation(), problem.variant_name());
  Explanation explanation = describe(context, binding);
  explanation.problem = problem_text(problem);
  const Implementation* selected =
      select(binding, context.bindings(), problem, context.catalog(), &explanation.verdicts);
  if (selected != nullptr) {
    explanation.selected = selected->info.name;
    Specialization chosen =
        selected->functions.choose(selected->self, problem, context.bindings().hardware, {});
    explanation.specialization = std::move(chosen.text);
    explanation.geometry = std::move(chosen.origin);
    explanation.parts = explain_parts(context, *selected, problem, nullptr);
  }
  sort_by_rank(explanation.verdicts);
  return explanation;
}

void look_up_evidence(Context& context, DevicePort& device, const Problem& problem,
                      Explanation& explanation) {
  if (explanation.selected.empty()) return;
  try {
    Binding& binding = context.binding(problem.operation(), problem.variant_name());
    explanation.evidence = binding.evidence_for(binding.decide(problem, device, {}), device);
  } catch (const Error& error) {
    explanation.evidence = EvidenceAnswer{false, error.what()};
  }
}

}  // namespace kw
