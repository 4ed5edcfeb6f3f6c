// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/evidence.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "kernelwright/base/error.hpp"
#include "kernelwright/base/sha256.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/suite/report_file.hpp"

namespace kw::suite {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMagic = "kw.evidence/1";
constexpr std::size_t kDigestText = 64;
constexpr const char* kSuffix = ".kwevidence";

// A line "kw.evidence/1 SHA-256 of the rest", then JSON.
std::string file_text(const Evidence& evidence) {
  const EvidenceIdentity& identity = evidence.identity;
  Json json{{"implementation", identity.implementation},
            {"code", identity.code},
            {"device_model", identity.device_model},
            {"driver", identity.driver},
            {"suite_version", identity.suite_version},
            {"batch", evidence.batch},
            {"mode", evidence.mode},
            {"cases", evidence.cases},
            {"stored", evidence.stored}};
  for (const PassedProblem& each : evidence.problems)
    json["problems"].push_back({{"problem", each.problem}, {"cfg", each.specialization}});
  const std::string rest = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  return fmt::format("{} {}\n{}", kMagic, hex(sha256(rest)), rest);
}

std::optional<Evidence> parse(const std::string& text) {
  const std::size_t first = kMagic.size() + 1 + kDigestText;
  if (!text.starts_with(kMagic) || text.size() <= first) return std::nullopt;
  const std::string_view rest = std::string_view(text).substr(first + 1);
  if (hex(sha256(rest)) != text.substr(kMagic.size() + 1, kDigestText)) return std::nullopt;
  try {
    const Json json = Json::parse(rest);
    Evidence evidence{{json.at("implementation"), json.at("code"), json.at("device_model"),
                       json.at("driver"), json.at("suite_version")},
                      json.at("batch"),
                      json.at("mode"),
                      json.at("stored"),
                      json.at("cases")};
    for (const Json& each : json.value("problems", Json::array()))
      evidence.problems.push_back({each.at("problem"), each.at("cfg")});
    return evidence;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

std::optional<Evidence> read_file(const std::filesystem::path& path) {
  try {
    return parse(read_whole(path));
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Whether nothing that could find a fault was left out of `request`.
bool leaves_nothing_out(const NumericsRequest& request) {
  return !request.fuzzing() && request.shards == 1 && request.variants.empty() &&
         request.dtype.empty() && request.fills.empty() && request.class_checks &&
         request.repeats >= kDefaultRepeats;
}

bool proves(const NumericsRequest& request) {
  if (!leaves_nothing_out(request)) return false;
  return !request.is_batch() ||
         ((request.batch == "ci" || request.batch == "full") && request.pins.empty());
}

// Those of `older` that `evidence` does not have.
void add_problems(const std::vector<PassedProblem>& older, Evidence& evidence) {
  for (const PassedProblem& each : older) {
    const auto same = [&](const PassedProblem& other) {
      return other.problem == each.problem && other.specialization == each.specialization;
    };
    if (std::none_of(evidence.problems.begin(), evidence.problems.end(), same))
      evidence.problems.push_back(each);
  }
  evidence.cases = static_cast<int>(evidence.problems.size());
}

bool has_elements(const CaseResult& result) {
  return std::any_of(result.outputs.begin(), result.outputs.end(),
                     [](const OutputMetrics& output) { return output.elements > 0; });
}

// "build:0123456789ab": enough of a digest to tell it from another.
std::string shortened(const std::string& code) {
  constexpr std::size_t kDigits = 12;
  return code.substr(0, code.find(':') + 1 + kDigits);
}

// What a stored identity has that the wanted one has not, one entry each.
std::vector<std::string> differences(const EvidenceIdentity& stored,
                                     const EvidenceIdentity& wanted) {
  std::vector<std::string> found;
  const auto compare = [&](const char* what, const std::string& has, const std::string& wants) {
    if (has != wants)
      found.push_back(fmt::format("{} {}, not {}", what, has.empty() ? "none" : has,
                                  wants.empty() ? "none" : wants));
  };
  compare("device", stored.device_model, wanted.device_model);
  compare("driver", stored.driver, wanted.driver);
  compare("suite version", std::to_string(stored.suite_version),
          std::to_string(wanted.suite_version));
  if (stored.code != wanted.code) compare("code", shortened(stored.code), shortened(wanted.code));
  return found;
}

}  // namespace

std::string EvidenceIdentity::key() const {
  Sha256 digest;
  digest.field(kMagic).field(implementation).field(code).field(device_model).field(driver);
  return hex(digest.field(std::to_string(suite_version)).finish());
}

bool Evidence::covers(const std::string& specialization) const {
  return !batch.empty() ||
         std::any_of(problems.begin(), problems.end(), [&](const PassedProblem& each) {
           return each.specialization == specialization;
         });
}

std::string Evidence::specializations() const {
  std::set<std::string> distinct;
  for (const PassedProblem& each : problems) distinct.insert(each.specialization);
  return join(std::vector<std::string>(distinct.begin(), distinct.end()));
}

std::string Evidence::summary() const {
  return fmt::format("{}, {} {}, {}", batch.empty() ? "single problems" : "batch " + batch, cases,
                     cases == 1 ? "case" : "cases", stored);
}

std::string EvidenceStore::path_of(const EvidenceIdentity& identity) const {
  return directory_ + "/" + identity.key() + kSuffix;
}

std::string EvidenceStore::store(Evidence evidence) {
  if (evidence.batch.empty()) {
    const std::optional<Evidence> older = find(evidence.identity);
    if (older && !older->batch.empty()) return {};
    if (older) add_problems(older->problems, evidence);
  }
  if (readonly_) return "the cache is read-only";
  if (directory_.empty()) return "there is no cache directory";
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) return fmt::format("cannot make '{}': {}", directory_, error.message());
  try {
    write_whole(file_text(evidence), path_of(evidence.identity));
    return {};
  } catch (const Error& failure) {
    return failure.what();
  }
}

std::optional<Evidence> EvidenceStore::find(const EvidenceIdentity& identity) const {
  std::optional<Evidence> evidence = read_file(path_of(identity));
  // A file under another's name proves nothing.
  if (evidence && evidence->identity.key() != identity.key()) return std::nullopt;
  return evidence;
}

std::string EvidenceStore::why_missing(const EvidenceIdentity& identity) const {
  std::error_code error;
  if (std::filesystem::exists(path_of(identity), error))
    return fmt::format("'{}' is damaged: it is not what was written", path_of(identity));
  std::vector<std::string> nearest;
  for (const Evidence& each : list()) {
    if (each.identity.implementation != identity.implementation) continue;
    std::vector<std::string> others = differences(each.identity, identity);
    if (nearest.empty() || others.size() < nearest.size()) nearest = std::move(others);
  }
  return nearest.empty() ? fmt::format("there is none in '{}'", directory_)
                         : "what is stored is for " + join(nearest, "; ");
}

std::vector<Evidence> EvidenceStore::list(std::vector<std::string>* damaged) const {
  std::vector<Evidence> found;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory_, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() != kSuffix) continue;
    std::optional<Evidence> evidence = read_file(it->path());
    if (evidence && evidence->identity.key() == it->path().stem())
      found.push_back(std::move(*evidence));
    else if (damaged != nullptr)
      damaged->push_back(it->path());
  }
  std::sort(found.begin(), found.end(), [](const Evidence& a, const Evidence& b) {
    return std::tie(a.identity.implementation, a.stored, a.identity.code) <
           std::tie(b.identity.implementation, b.stored, b.identity.code);
  });
  return found;
}

std::vector<Evidence> evidence_of(const NumericsReport& report, const NumericsRequest& request,
                                  const Platform& platform) {
  if (!proves(request) || !report.header.complete) return {};
  std::vector<Evidence> found;
  for (const Coverage& target : report.coverage) {
    std::map<std::string, std::vector<const CaseResult*>> passed;  // by code
    bool all_passed = !target.exceeds_limit();
    for (const CaseResult& result : report.cases) {
      if (result.implementation != target.implementation) continue;
      if (result.status != CaseStatus::kPassed)
        all_passed &= result.status == CaseStatus::kNotApplicable;
      else if (request.is_batch() || has_elements(result))
        passed[result.code].push_back(&result);
    }
    if (!all_passed) continue;
    for (const auto& [code, cases] : passed) {
      if (code.empty()) continue;
      Evidence& evidence = found.emplace_back();
      evidence.identity.implementation = target.implementation;
      evidence.identity.code = code;
      evidence.identity.device_model = platform.device.hardware().model;
      evidence.identity.driver = platform.driver;
      if (request.is_batch()) evidence.batch = request.batch;
      evidence.mode = mode_name(request.mode);
      evidence.stored = report.header.ended;
      evidence.cases = static_cast<int>(cases.size());
      if (request.is_batch()) continue;
      for (const CaseResult* result : cases)
        evidence.problems.push_back({result->problem, result->specialization});
    }
  }
  return found;
}

}  // namespace kw::suite
