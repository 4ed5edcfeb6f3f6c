// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/capi/explain_json.hpp"

namespace kw::capi {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Choice& choice, bool in_effect) {
  return {{"source", source_name(choice.source)},
          {"targets", choice.targets},
          {"origin", choice.origin},
          {"in_effect", in_effect}};
}

Json to_json(const std::vector<ExplainPart>& parts) {
  Json rows = Json::array();
  for (const ExplainPart& part : parts) {
    rows.push_back({{"problem", part.problem},
                    {"implementation", part.implementation},
                    {"parts", to_json(part.parts)}});
  }
  return rows;
}

Json to_json(const Explanation& explanation) {
  Json row{{"operation", explanation.operation},
           {"variant", explanation.variant},
           {"problem", explanation.problem},
           {"device", explanation.device},
           {"mode", explanation.mode},
           {"selected", explanation.selected},
           {"specialization", explanation.specialization},
           {"geometry", explanation.geometry}};
  row["choices"] = Json::array();
  for (const Choice& choice : explanation.history) {
    row["choices"].push_back(to_json(choice, choice.source == explanation.choice.source));
  }
  row["implementations"] = Json::array();
  for (const Verdict& verdict : explanation.verdicts) {
    row["implementations"].push_back({{"name", verdict.implementation},
                                      {"rank", verdict.rank},
                                      {"gate", gate_name(verdict.gate)},
                                      {"reason", verdict.reason}});
  }
  row["parts"] = to_json(explanation.parts);
  row["evidence"] = {{"required", explanation.require_evidence},
                     {"origin", explanation.require_evidence_origin},
                     {"found", nullptr}};  // without a problem that is served: nobody knows
  if (explanation.evidence) {
    row["evidence"]["found"] = explanation.evidence->found;
    row["evidence"]["text"] = explanation.evidence->text;
  }
  return row;
}

}  // namespace

Json explanations_json(const std::vector<Explanation>& explanations) {
  Json json{{"schema", "kw.explain/1"}, {"explanations", Json::array()}};
  for (const Explanation& row : explanations) json["explanations"].push_back(to_json(row));
  return json;
}

}  // namespace kw::capi
