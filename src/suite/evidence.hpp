// SPDX-License-Identifier: Apache-2.0
// Stored proof that an implementation passed numerics: for one code on one model of device with one
// driver, as this version of the suite judges. One self-checking file each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernelwright/suite/run.hpp"

namespace kw::suite {

// Goes up whenever what was accepted before might now be refused.
inline constexpr int kSuiteVersion = 1;

struct EvidenceIdentity {
  std::string implementation;
  std::string code;          // code_identity()
  std::string device_model;  // "NVIDIA H200"
  std::string driver;        // "13.0"; empty: the device has none
  int suite_version = kSuiteVersion;

  std::string key() const;  // 64 hexadecimal digits
};

// A problem that passed by itself, and the Cfg that served it.
struct PassedProblem {
  std::string problem, specialization;
};

// Of a whole batch, which speaks for all that runs this code; or of single problems, which speak
// for the specializations that they came to.
struct Evidence {
  EvidenceIdentity identity;
  std::string batch, mode, stored;  // batch empty: of `problems`; stored: UTC
  int cases = 0;                    // that passed with this code
  std::vector<PassedProblem> problems{};

  bool covers(const std::string& specialization) const;
  // Of `problems`, each once: "{...}, {...}".
  std::string specializations() const;
  // "batch ci, 93 cases, 2026-11-30T12:00:00Z".
  std::string summary() const;
};

class EvidenceStore {
 public:
  // `directory` need not exist; with `readonly`, or where it cannot be written, nothing is stored.
  explicit EvidenceStore(std::string directory, bool readonly = false)
      : directory_(std::move(directory)), readonly_(readonly) {}

  // Replaces older evidence of the same identity; but single problems are added to older ones, and
  // change nothing beside a whole batch. Empty, or why it could not be written.
  std::string store(Evidence evidence);
  // A file that was changed since counts as none.
  std::optional<Evidence> find(const EvidenceIdentity& identity) const;
  // Why find() has nothing, in the words of what differs: "there is evidence for another build".
  std::string why_missing(const EvidenceIdentity& identity) const;
  // By implementation; damaged files are named in `damaged`, if that is not null.
  std::vector<Evidence> list(std::vector<std::string>* damaged = nullptr) const;

  const std::string& directory() const noexcept { return directory_; }

 private:
  std::string path_of(const EvidenceIdentity& identity) const;

  std::string directory_;
  bool readonly_;
};

// The evidence in a run of whole batches or of single problems; empty for any other request, for
// one that leaves checks out, and for targets of which a case did not pass.
std::vector<Evidence> evidence_of(const NumericsReport& report, const NumericsRequest& request,
                                  const Platform& platform);

}  // namespace kw::suite
