// SPDX-License-Identifier: Apache-2.0
// Resolve: from a catalog, settings and a device to an immutable list of candidates per operation,
// each non-candidate with the gate that stopped it and why. Published all or nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernelwright/core/catalog.hpp"
#include "kernelwright/core/settings.hpp"

namespace kw {

// The gates a candidate passes in order.
enum class Gate : std::uint8_t {
  kDependency,  // its library is missing or too old
  kDevice,      // written for another kind of device
  kCapability,  // this device is too old or too new for it
  kMode,        // eager or graph
  kVariant,     // does not implement the variant
  kChoice,      // the settings name others, or only an explicit request may bind it
  kProblem,     // `supports` rejected the problem
  kRank,        // accepts, but an earlier one serves
  kSelected,
};
std::string_view gate_name(Gate gate) noexcept;

struct Verdict {
  std::string implementation;
  int rank = 0;  // position in the device's list, from 1; 0: not in it
  Gate gate = Gate::kSelected;
  std::string reason;
};

// One operation/variant on the device.
struct OperationBinding {
  const Operation* operation = nullptr;
  int variant = 0;
  Choice choice;
  std::vector<Choice> history;                    // every source's choice, lowest precedence first
  std::vector<const Implementation*> candidates;  // in the order they are tried
  std::vector<Verdict> verdicts;                  // those filtered out at resolve
  bool strict = false;                            // named: a rejection is an error, not a fallback
  std::string absent;                             // non-empty: no candidate, and why

  const std::string& variant_name() const noexcept {
    return operation->contract->variants[static_cast<std::size_t>(variant)].name;
  }
  std::string label() const { return operation->contract->operation + "/" + variant_name(); }
};

struct Bindings {
  Hardware hardware;
  Mode mode = Mode::kEager;
  std::vector<OperationBinding> operations;  // catalog order, variants in contract order

  const OperationBinding* find(std::string_view operation, std::string_view variant) const noexcept;
};

// Freezes the catalog. Throws Error when an explicit choice cannot be met on this device, naming
// who could; nothing is published then. A named implementation that lacks a variant leaves that
// variant absent, which is an error only for those who ask for it.
Bindings resolve(Catalog& catalog, const Settings& settings, const Hardware& hardware);

// The composed implementations whose part is being looked for, innermost first: none serves itself.
struct PartPath {
  const Implementation* implementation = nullptr;
  const PartPath* above = nullptr;
};

// The first candidate of `binding` that accepts `problem`, or null; verdicts of all are appended.
const Implementation* select(const OperationBinding& binding, const Bindings& all,
                             const Problem& problem, const ContractSource& contracts,
                             std::vector<Verdict>* verdicts, const PartPath* path = nullptr);

}  // namespace kw
