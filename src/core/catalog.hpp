// SPDX-License-Identifier: Apache-2.0
// The operations this process knows, each with one ordered list of implementations. Open for
// registration until the first resolve, immutable afterwards.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernelwright/core/implementation.hpp"

namespace kw {

class EvidenceGate;  // core/evidence.hpp

// A contract and its implementations; position in the list is the rank within a device.
struct Operation {
  const Contract* contract = nullptr;
  std::vector<Implementation> implementations;
};

// A configuration field of the outside world. Its operation may be missing from this build: then
// only `auto` and `eager` are accepted.
struct KnownField {
  std::string field;            // "x_implementation"
  std::string operation;        // "x"
  std::string variant;          // set when the field speaks for one variant only
  std::string shipped_default;  // what its origin means by saying nothing; here that is `auto`
};

// A value of such a field that nothing in the tree serves. Shadowed as soon as a plugin registers
// an implementation of that solution.
struct KnownValue {
  std::string field;                // "x_implementation"
  std::string value;                // "fused_y", with the prefix of its field
  std::string remedy;               // "needs plugin y"
  std::vector<DeviceKind> devices;  // where it could run; empty: any
  // What the value means on other devices, "" being auto: applied to files only, or to every
  // source when deprecated.
  std::map<DeviceKind, std::string> normalises_to;
  bool deprecated = false;  // an alias, reported with a warning wherever it is met
};

// A dependency that could not be used: its implementations are excluded, not errors.
struct Exclusion {
  std::string operation, implementation, reason;
};

// Registration may come from any thread. Readers need a frozen catalog, or no registration running
// beside them: pointers and references into it are stable from freeze() on.
class Catalog : public ContractSource {
 public:
  // An operation and its in-tree entries. Throws Error(kConflict) when frozen or present already,
  // Error(kInvalidArgument) when an entry contradicts itself or the contract.
  void add(Operation operation);
  // Third-party registration: after the in-tree entries, by descending priority, then name. A
  // duplicate name needs `force`, which is logged with both origins; a replaced in-tree entry keeps
  // its rank. Throws Error(kConflict | kNotFound | kInvalidArgument).
  void register_implementation(std::string_view operation, Implementation implementation,
                               bool force = false);
  // An implementation that would exist if a dependency were there (missing or too old). Registering
  // it later withdraws the exclusion.
  void exclude(Exclusion exclusion);
  void add_known_field(KnownField field);
  void add_known_value(KnownValue value);
  // Who answers where settings require evidence. Throws Error(kConflict) when frozen.
  void set_evidence_gate(std::shared_ptr<const EvidenceGate> gate);

  void freeze() noexcept;
  bool frozen() const noexcept;

  const std::vector<Operation>& operations() const noexcept { return operations_; }
  const std::vector<KnownField>& known_fields() const noexcept { return known_fields_; }
  const std::vector<KnownValue>& known_values() const noexcept { return known_values_; }
  const std::vector<Exclusion>& exclusions() const noexcept { return exclusions_; }
  // Null: nothing here has evidence.
  const EvidenceGate* evidence_gate() const noexcept { return evidence_gate_.get(); }
  const Operation* find(std::string_view operation) const noexcept;
  // Throws Error(kNotFound) with the nearest name and all operations.
  const Operation& operation(std::string_view operation) const;
  // An implementation by exact name, with its operation; null when unknown.
  std::pair<const Operation*, const Implementation*> find_implementation(
      std::string_view name) const noexcept;

  const Contract* find_contract(std::string_view operation) const noexcept override;
  std::vector<std::string> operation_names() const override;

 private:
  void require_open(std::string_view what, std::string_view name) const;  // mutex_ held

  mutable std::mutex mutex_;
  bool frozen_ = false;
  std::vector<Operation> operations_;
  std::vector<std::size_t> in_tree_;  // per operation: number of entries before third parties
  std::vector<KnownField> known_fields_;
  std::vector<KnownValue> known_values_;
  std::vector<Exclusion> exclusions_;
  std::shared_ptr<const EvidenceGate> evidence_gate_;
};

}  // namespace kw
