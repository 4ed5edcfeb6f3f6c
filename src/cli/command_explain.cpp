// SPDX-License-Identifier: Apache-2.0
// kw explain: which implementation serves, and why no other does.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/capi/explain_json.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/request.hpp"
#include "kernelwright/cli/table.hpp"
#include "kernelwright/core/explain.hpp"
#include "kernelwright/ops/catalog.hpp"

namespace kw::cli {
namespace {

std::string choice_table(const Explanation& explanation, bool colour) {
  Table table({"", "source", "choice", "from"});
  for (const Choice& choice : explanation.history) {
    const bool in_effect = choice.source == explanation.choice.source;
    table.add({in_effect ? "*" : "", source_name(choice.source), choice.text(),
               choice.source == Source::kDefault ? "" : choice.origin});
  }
  return table.text(colour);
}

std::string verdict_table(const Explanation& explanation, bool colour) {
  Table table({"", ">rank", "implementation", "gate", "reason"});
  for (const Verdict& verdict : explanation.verdicts) {
    const bool selected = verdict.gate == Gate::kSelected;
    table.add({selected ? "*" : "", verdict.rank == 0 ? "-" : std::to_string(verdict.rank),
               Cell(verdict.implementation, selected ? Style::kGood : Style::kPlain),
               gate_name(verdict.gate), verdict.reason});
  }
  return table.text(colour);
}

std::string part_tree(const std::vector<ExplainPart>& parts, std::size_t depth) {
  std::string text;
  for (const ExplainPart& part : parts) {
    text += fmt::format("{:{}}{} -> {}\n", "", 2 * depth, part.problem,
                        part.implementation.empty() ? "nothing serves it" : part.implementation);
    text += part_tree(part.parts, depth + 1);
  }
  return text;
}

Cell evidence_cell(const Explanation& explanation) {
  std::string text = explanation.require_evidence
                         ? fmt::format("required ({})", explanation.require_evidence_origin)
                         : "not required";
  if (!explanation.evidence) return {text, Style::kPlain};
  const auto& [found, what] = *explanation.evidence;
  if (found) return {text + "; there is: " + what, Style::kGood};
  return {text + "; none: " + what, explanation.require_evidence ? Style::kWarning : Style::kFaint};
}

// Everything but the title, so that variants which fare alike share it.
std::string body(const Explanation& explanation, const Console& console) {
  const bool colour = console.out_colour;
  Table facts({"", ""});
  facts.add({"device", explanation.device + ", " + explanation.mode + " mode"});
  facts.add({"selected",
             explanation.selected.empty()
                 ? Cell(explanation.choice.is_eager() ? "eager: the model's own code" : "nothing",
                        Style::kWarning)
                 : Cell(explanation.selected, Style::kGood)});
  if (!explanation.specialization.empty()) {
    facts.add({"specialization", explanation.specialization});
  }
  if (!explanation.geometry.empty()) facts.add({"geometry", explanation.geometry});
  facts.add({"evidence", evidence_cell(explanation)});
  std::string text = facts.text(colour);
  text += "\n  choice, * is in effect\n" + choice_table(explanation, colour);
  text += "\n  implementations\n" + verdict_table(explanation, colour);
  if (!explanation.parts.empty()) text += "\n  parts\n" + part_tree(explanation.parts, 1);
  return text;
}

void print(const std::vector<Explanation>& explanations, const Console& console) {
  std::vector<std::pair<std::string, std::string>> pages;  // title, body
  for (const Explanation& explanation : explanations) {
    std::string text = body(explanation, console);
    const std::string label = explanation.operation + "/" + explanation.variant;
    const auto alike = std::find_if(pages.begin(), pages.end(), [&](const auto& page) {
      return explanation.problem.empty() && page.second == text;
    });
    if (alike == pages.end()) {
      pages.emplace_back(explanation.problem.empty() ? label : explanation.problem,
                         std::move(text));
    } else {
      alike->first += ", " + explanation.variant;
    }
  }
  for (const auto& [title, text] : pages) {
    if (&title != &pages.front().first) console.out << '\n';
    console.out << console.heading(title) << text;
  }
}

ExitCode run_explain(const Flags& flags, Console& console) {
  Catalog& catalog = builtin_catalog();
  const Subject subject = subject_of(flags, catalog);
  if (subject.operation.empty() && subject.problems.empty()) {
    fail(Code::kInvalidArgument,
         "kw explain needs an operation, an operation/variant or a problem; operations: {}",
         join(catalog.operation_names()));
  }
  Settings settings = settings_of(flags, catalog, operations_of(subject));
  const auto device = open_device(flags);
  Context context(catalog, std::move(settings), *device);

  std::vector<Explanation> explanations;
  for (const Problem& problem : subject.problems) {
    explanations.push_back(explain(context, problem));
    look_up_evidence(context, *device, problem, explanations.back());
  }
  if (subject.problems.empty()) {
    for (const Variant& variant : catalog.operation(subject.operation).contract->variants) {
      if (!subject.variant.empty() && variant.name != subject.variant) continue;
      explanations.push_back(explain(context, subject.operation, variant.name));
    }
  }

  if (flags.json) {
    console.out << capi::explanations_json(explanations)
                       .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                << '\n';
  } else {
    print(explanations, console);
  }
  // Asked for one thing, and nothing serves it. Of all variants, some may well be absent.
  const bool specific = !subject.problems.empty() || !subject.variant.empty();
  const bool unserved =
      std::any_of(explanations.begin(), explanations.end(), [](const Explanation& explanation) {
        return explanation.selected.empty() && !explanation.choice.is_eager();
      });
  return specific && unserved ? ExitCode::kNothingPassed : ExitCode::kPassed;
}

}  // namespace

Command explain_command() {
  return {"explain",
          "which implementation serves an operation or a problem, and why no other does",
          "OPERATION[/VARIANT] | PROBLEM",
          {Flag::kOperation, Flag::kVariant, Flag::kImplementation, Flag::kProblem, Flag::kDevice,
           Flag::kMode, Flag::kConfig, Flag::kJson},
          true,
          run_explain};
}

}  // namespace kw::cli
