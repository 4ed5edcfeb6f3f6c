// SPDX-License-Identifier: Apache-2.0
// A resolved selection on one device, the plans prepared under it, and the process default one.
// Everything published is immutable and callable from any thread; prepare is synchronised inside.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernelwright/core/arguments.hpp"
#include "kernelwright/core/selection.hpp"
#include "kernelwright/core/status.hpp"

namespace kw {

class OpSlot;
class SlotSet;
class Binding;

struct Counters {
  std::uint64_t plans_built = 0;  // distinct specializations prepared
  std::uint64_t problems_prepared = 0;
  std::uint64_t misses = 0;        // calls whose key was new to their binding
  std::uint64_t not_prepared = 0;  // refused: capturing, or prepare_on_miss off
};

// What binding a SlotSet did, one row per slot.
struct SlotReport {
  std::string operation, variant;
  std::string bound;   // name of the first candidate, or "eager"
  std::string reason;  // why eager, or the rule that selected
  std::string origin;  // where the choice came from
};
struct BindReport {
  std::vector<SlotReport> slots;
  std::vector<std::string> unused_fields;  // given in the file, no slot of the model asks
};

class Context {
 public:
  // Resolves on construction; throws Error and publishes nothing on failure. `device` and `catalog`
  // must outlive the context.
  Context(Catalog& catalog, Settings settings, DevicePort& device);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The process default. The same effective settings again return it; others throw
  // Error(kConflict).
  static Context& initialize(Catalog& catalog, Settings settings, DevicePort& device);
  // Null before initialize().
  static Context* process_default() noexcept;

  // Binds every slot of the set: to a binding, or to eager. Fails as a whole. Calls of these slots
  // must not run meanwhile; unbind the set before this context ends.
  BindReport bind(SlotSet& slots);

  // The binding of operation/variant; throws Error(kNotFound | kUnsupported).
  Binding& binding(std::string_view operation, std::string_view variant);

  // Prepares the plan for one checked problem, which may have free dynamic dimensions, and reserves
  // workspace on `stream` when it has none. Returns the chosen implementation. Throws Error with
  // every candidate's rejection when none accepts.
  const Implementation& prepare(const Problem& problem, const CfgPins& pins = {},
                                Stream stream = {});

  const Catalog& catalog() const noexcept { return catalog_; }
  const Bindings& bindings() const noexcept { return bindings_; }
  const Settings& settings() const noexcept { return settings_; }
  DevicePort& device() const noexcept { return device_; }
  Counters counters() const noexcept;

 private:
  friend class Binding;
  struct State;

  Binding* decide(SlotReport& row);

  Catalog& catalog_;
  Settings settings_;
  DevicePort& device_;
  Bindings bindings_;
  std::unique_ptr<State> state_;
};

}  // namespace kw
