// SPDX-License-Identifier: Apache-2.0
// Reports as text in their formats, written as whole files and read back.
#include "kernelwright/suite/report_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/suite/report_document.hpp"

namespace kw::suite {
namespace {

constexpr const char* kKinds[] = {"numerics", "bench", "compare"};

std::string in_format_of(const std::string& path, const Json& document) {
  if (path.ends_with(".json")) return document_text(document);
  if (path.ends_with(".md")) return page_markdown(page_of(document));
  if (path.ends_with(".html")) return page_html(page_of(document));
  fail(Code::kInvalidArgument,
       "report '{}': the suffix chooses the format; use .json, .md or .html", path);
}

}  // namespace

void write_whole(const std::string& text, const std::string& path) {
  const std::string temporary = path + ".partial";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) fail(Code::kEnvironment, "cannot write '{}': {}", path, std::strerror(errno));
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    fail(Code::kEnvironment, "cannot write '{}': {}", path, why);
  }
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) fail(Code::kNotFound, "cannot read '{}': {}", path, std::strerror(errno));
  return std::move(text).str();
}

// Reports may hold text from anywhere; bytes that are not UTF-8 must not make writing fail.
std::string document_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json parse_document(const std::string& text, const std::string& source) {
  Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded() || !document.is_object())
    fail(Code::kInvalidArgument, "'{}' is no report: it is not a JSON object", source);
  const std::string schema = text_at(document, "schema"), kind = text_at(document, "kind");
  if (schema != kReportSchema) {
    fail(Code::kInvalidArgument,
         "'{}' is no report that this build reads: its schema is '{}', not {}", source, schema,
         kReportSchema);
  }
  const std::vector<std::string> known(std::begin(kKinds), std::end(kKinds));
  if (std::find(known.begin(), known.end(), kind) == known.end())
    fail(Code::kInvalidArgument, "'{}': {}", source, unknown_name_message("kind", kind, known));
  return document;
}

std::string convert_report(const std::string& path, const std::string& output) {
  const Json document = parse_document(read_whole(path), path);
  try {
    if (output.empty()) return page_markdown(page_of(document));
    std::string text = in_format_of(output, document);
    write_whole(text, output);
    return text;
  } catch (const Json::exception& error) {
    fail(Code::kInvalidArgument, "'{}' is damaged: {}", path, error.what());
  }
}

std::string to_json(const NumericsReport& report) { return document_text(document_of(report)); }
std::string to_json(const BenchReport& report) { return document_text(document_of(report)); }
std::string to_json(const CompareReport& report) { return document_text(document_of(report)); }
std::string to_markdown(const NumericsReport& report) {
  return page_markdown(page_of(document_of(report)));
}
std::string to_markdown(const BenchReport& report) {
  return page_markdown(page_of(document_of(report)));
}
std::string to_markdown(const CompareReport& report) {
  return page_markdown(page_of(document_of(report)));
}
std::string to_html(const NumericsReport& report) {
  return page_html(page_of(document_of(report)));
}
std::string to_html(const BenchReport& report) { return page_html(page_of(document_of(report))); }

void write_report(const NumericsReport& report, const std::string& path) {
  write_whole(in_format_of(path, document_of(report)), path);
}
void write_report(const BenchReport& report, const std::string& path) {
  write_whole(in_format_of(path, document_of(report)), path);
}
void write_report(const CompareReport& report, const std::string& path) {
  write_whole(in_format_of(path, document_of(report)), path);
}

}  // namespace kw::suite
