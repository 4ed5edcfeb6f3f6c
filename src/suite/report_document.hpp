// SPDX-License-Identifier: Apache-2.0
// Private: a report as the JSON document of schema kw.report/1. Whatever shows a report reads the
// document, so that one from a file and one just made look the same.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "kernelwright/suite/comparison.hpp"
#include "kernelwright/suite/page.hpp"
#include "kernelwright/suite/report.hpp"

namespace kw::suite {

using Json = nlohmann::ordered_json;

inline constexpr const char* kReportSchema = "kw.report/1";

Json document_of(const NumericsReport& report);
Json document_of(const BenchReport& report);
Json document_of(const CompareReport& report);
std::string document_text(const Json& document);

// Throws Error(kInvalidArgument) for text that is no report of this schema, named as `source`.
Json parse_document(const std::string& text, const std::string& source);

// What a reader sees of it.
Page page_of(const Json& document);

// A double that JSON may have had to write as text: "nan", "inf", "-inf".
double number_at(const Json& object, const char* name);
// "" where there is none.
std::string text_at(const Json& object, const char* name);

}  // namespace kw::suite
