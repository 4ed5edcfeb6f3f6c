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

struct Evidence {
  EvidenceIdentity identity;
  std::string batch, mode, stored;  // stored: UTC
  int cases = 0;                    // that passed with this code
};

class EvidenceStore {
 public:
  // `directory` need not exist; with `readonly`, or where it cannot be written, nothing is stored.
  explicit EvidenceStore(std::string directory, bool readonly = false)
      : directory_(std::move(directory)), readonly_(readonly) {}

  // Replaces older evidence of the same identity. Empty, or why it could not be written.
  std::string store(const Evidence& evidence);
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

// The evidence in a run of whole batches; empty for any other request, and for targets of which a
// case did not pass.
std::vector<Evidence> evidence_of(const NumericsReport& report, const NumericsRequest& request,
                                  const Platform& platform);

// "kw numerics --implementation X --device D --batch ci": what makes it.
std::string evidence_command(const std::string& implementation, const Hardware& hardware);

}  // namespace kw::suite
