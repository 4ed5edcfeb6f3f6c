// SPDX-License-Identifier: Apache-2.0
// What all kinds of reports show alike: the verdict, failures first, counts, the environment.
#include "kernelwright/suite/report_page.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "kernelwright/base/text.hpp"

namespace kw::suite {
namespace {

std::string verdict_of(const Json& document, const Json& summary) {
  std::string text;
  if (summary.contains("cases")) {
    text = fmt::format(
        "{} cases: {} passed, {} failed, {} errors, {} mistrusted, {} not applicable, {} skipped; "
        "exit code {}. ",
        summary.at("cases").get<int>(), summary.at("passed").get<int>(),
        summary.at("failed").get<int>(), summary.at("error").get<int>(),
        summary.at("mistrusted").get<int>(), summary.at("not_applicable").get<int>(),
        summary.at("skipped").get<int>(), summary.at("exit_code").get<int>());
  } else {
    for (const auto& [name, value] : summary.items())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value_text(value));
    text += ". ";
  }
  const std::string revision = text_at(document, "revision");
  if (!document.value("complete", true)) text = "Interrupted: this is a part. " + text;
  return text + fmt::format("{:.1f} s, {}{}.", number_at(document, "seconds"),
                            text_at(document, "started"),
                            revision.empty() ? "" : ", revision " + revision);
}

Findings findings_of(const Json& document) {
  Findings findings;
  for (const Json& entry : document.value("cases", Json::array())) {
    const std::string status = text_at(entry, "status");
    const std::string_view implausible = reason_name(Reason::kImplausibleSpeed);
    const Json flags = entry.value("flags", Json::array());
    if (std::find(flags.begin(), flags.end(), implausible) != flags.end()) {
      findings.push_back(
          {"flagged", std::string(implausible),
           "faster than this machine can move the bytes: " + text_at(entry, "problem"),
           text_at(entry, "repro")});
      continue;
    }
    if (status != "failed" && status != "error" && status != "mistrusted") continue;
    const Json reason = entry.value("reason", Json::object());
    findings.push_back(
        {status, text_at(reason, "code"), text_at(reason, "message"), text_at(entry, "repro")});
  }
  return findings;
}

Section not_passed(const Json& document) {
  Section section{"Not passed", {}};
  for (const Json& target : document.value("coverage", Json::array())) {
    if (const std::string message = text_at(target, "limit_message"); !message.empty())
      section.blocks.emplace_back(Paragraph{message, Tone::kBad});
  }
  if (Findings findings = findings_of(document); !findings.empty())
    section.blocks.emplace_back(std::move(findings));
  return section;
}

Section environment_of(const Json& document) {
  Section section{"Environment", {}};
  section.blocks.emplace_back(
      object_table(document.value("environment", Json::object()), "machine"));
  section.blocks.emplace_back(object_table(document.value("metadata", Json::object()), "metadata"));
  if (document.contains("argv")) {
    PageTable command{{"command line"}, {{{joined(document.at("argv")), Tone::kPlain, true}}}};
    section.blocks.emplace_back(std::move(command));
  }
  return section;
}

}  // namespace

double number_at(const Json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end()) return 0;
  if (!it->is_string()) return it->get<double>();
  const std::string text = it->get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "-inf" ? -INFINITY : INFINITY;
}

std::string text_at(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_integer()) return value.dump();
  if (value.is_number()) return fmt::format("{:.4g}", value.get<double>());
  if (value.is_array()) {
    constexpr std::size_t kMost = 4;
    if (value.size() > kMost) return fmt::format("{} values", value.size());
    std::string text;
    for (const Json& item : value) text += (text.empty() ? "" : ", ") + value_text(item);
    return text;
  }
  return value.is_null() ? "" : value.dump();
}

std::string joined(const Json& strings) {
  std::vector<std::string> words;
  for (const Json& word : strings) words.push_back(value_text(word));
  return join(words, " ");
}

PageTable object_table(const Json& object, std::string title) {
  PageTable table{{std::move(title), ""}, {}};
  for (const auto& [name, value] : object.items())
    table.rows.push_back({{name}, {value_text(value)}});
  return table;
}

Page page_of(const Json& document) {
  const std::string kind = text_at(document, "kind");
  const Json summary = document.value("summary", Json::object());
  Page page;
  page.title = fmt::format("kw {}: {}", kind, text_at(document, "request"));
  page.verdict = verdict_of(document, summary);
  page.tone = number_at(summary, "exit_code") == 0 ? Tone::kGood : Tone::kBad;
  page.sections.push_back(not_passed(document));
  std::vector<Section> own = kind == "numerics" ? numerics_sections(document)
                             : kind == "bench"  ? bench_sections(document)
                                                : compare_sections(document);
  for (Section& section : own) page.sections.push_back(std::move(section));
  if (const Json reasons = summary.value("by_reason", Json::object()); !reasons.empty()) {
    PageTable table{{"reason", ">cases"}, {}};
    for (const auto& [reason, cases] : reasons.items())
      table.rows.push_back({{reason, Tone::kPlain, true}, {value_text(cases)}});
    page.sections.push_back({"Reasons", {std::move(table)}});
  }
  page.sections.push_back(environment_of(document));
  return page;
}

}  // namespace kw::suite
