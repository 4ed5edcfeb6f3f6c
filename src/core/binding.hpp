// SPDX-License-Identifier: Apache-2.0
// The plans of one operation/variant inside a context, and the way from a call to its launch.
// For core and the C interface: model code sees a slot.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernelwright/core/call_pattern.hpp"
#include "kernelwright/core/context.hpp"
#include "kernelwright/core/evidence.hpp"

namespace kw {

// A prepared specialization; many problems share one. Destroys its plan.
class Plan {
 public:
  Plan(const Implementation& implementation, Specialization specialization,
       std::vector<std::unique_ptr<PreparedPart>> parts, void* plan) noexcept
      : implementation_(implementation),
        specialization_(std::move(specialization)),
        parts_(std::move(parts)),
        plan_(plan) {}
  ~Plan() { implementation_.functions.destroy(plan_); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const Implementation& implementation() const noexcept { return implementation_; }
  const Specialization& specialization() const noexcept { return specialization_; }
  const void* get() const noexcept { return plan_; }
  PlanFacts describe() const {
    PlanFacts facts = implementation_.functions.describe(plan_);
    // Of the problem that it was built for; others may come to the same Cfg another way.
    if (!specialization_.origin.empty()) facts.emplace_back("geometry", specialization_.origin);
    return facts;
  }

 private:
  const Implementation& implementation_;
  Specialization specialization_;
  std::vector<std::unique_ptr<PreparedPart>> parts_;  // outlives plan_, which may point into it
  void* plan_;
};

class Binding;

// What serves one problem, down to the parts of parts: decided before anything is built.
struct Recipe {
  Binding* binding = nullptr;
  Problem problem;
  const Implementation* implementation = nullptr;
  Specialization specialization;
  std::string id;           // of the plan within the binding: names every part's plan, too
  WorkspaceSize workspace;  // own and that of the parts
  WorkspaceLayout layout;
  std::vector<Recipe> parts;
  CfgPins pins;
};

// One validated call: an equal key needs no further check. What a hit reads lies first and
// together.
struct PreparedCall {
  CallPattern pattern;  // of a call that stays
  // From the plan, so that a hit follows no more pointers than it must.
  Status (*launch)(const void* plan, const void* args, const LaunchFrame&) noexcept = nullptr;
  const void* raw_plan = nullptr;
  WorkspaceSize workspace;
  WorkspaceLayout layout;
  const Plan* plan = nullptr;
  Key key;
};

// A prepared call, held for as long as it is launched.
struct FoundCall {
  const PreparedCall* call = nullptr;
  std::shared_ptr<const PreparedCall> passing;  // owner of a call that does not stay; else null

  bool stays() const noexcept { return call != nullptr && passing == nullptr; }
};

class Binding {
 public:
  // A server with varying row counts sees new keys without end. The first so many prepared calls,
  // about a kilobyte each, stay, and slots point at them without a lock. Those after them
  // pass: they are dropped together whenever they are so many, and each then costs one more miss.
  static constexpr std::size_t kStayingCalls = 4096, kPassingCalls = 4096;

  Binding(Context& context, const OperationBinding& selection)
      : context_(context),
        selection_(selection),
        contract_(*selection.operation->contract),
        device_(context.device()),
        device_kind_(context.bindings().hardware.kind) {}
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  const Contract& contract() const noexcept { return contract_; }
  const OperationBinding& selection() const noexcept { return selection_; }
  DevicePort& device() const noexcept { return device_; }
  // Where a call on `stream` goes.
  DevicePort& port_of(const Stream& stream) const noexcept {
    return stream.port != nullptr ? *stream.port : device_;
  }
  // The kind that the candidates were chosen for.
  DeviceKind device_kind() const noexcept { return device_kind_; }

  // Launches a prepared call. Without workspace for `stream`: kNotPrepared, and no message.
  Status launch(const PreparedCall& call, const void* args, DevicePort& port,
                const Stream& stream) const noexcept {
    LaunchFrame frame{stream.handle, nullptr, nullptr, nullptr};
    if (call.workspace.bytes > 0) {
      const auto [bytes, zeroed_bytes] = call.workspace;
      frame.block = static_cast<std::byte*>(
          stream.workspace != nullptr ? stream.workspace->take(bytes, zeroed_bytes)
                                      : port.workspace(stream.handle, bytes, zeroed_bytes));
      if (frame.block == nullptr) return {StatusCode::kNotPrepared};
      frame.workspace = frame.block + call.layout.offset;
      frame.layout = &call.layout;
    }
    return call.launch(call.raw_plan, args, frame);
  }
  // The call with this key, if it is remembered.
  FoundCall find_call(const Key& key) const noexcept;
  // Everything a hit does not need: validates, finds or builds the plan, remembers the key.
  // Sets `*staying` when the call is prepared now and stays.
  Status call_slow(const void* args, Stream stream, const PreparedCall** staying) noexcept;
  // Calls that are remembered, at most kStayingCalls + kPassingCalls.
  std::size_t remembered_calls() const;

  // What would serve a checked problem; throws Error with every candidate's rejection.
  Recipe decide(const Problem& problem, DevicePort& device, const CfgPins& pins,
                const PartPath* path = nullptr);
  // The plan of a recipe of this binding, built if need be.
  const Plan& build(const Recipe& recipe, DevicePort& device);
  const Plan& prepare(const Problem& problem, DevicePort& device, const CfgPins& pins) {
    return build(decide(problem, device, pins), device);
  }
  // What is known of the plan of a recipe of this binding, required or not; builds it, of which
  // only parts are kept. Throws as build() does.
  EvidenceAnswer evidence_for(const Recipe& recipe, DevicePort& device);

 private:
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept { return key.hash(); }
  };

  std::vector<std::unique_ptr<PreparedPart>> build_parts(const Recipe& recipe, DevicePort& device);
  std::unique_ptr<Plan> make_plan(const Recipe& recipe,
                                  std::vector<std::unique_ptr<PreparedPart>> parts,
                                  DevicePort& device);
  void require_evidence(const Recipe& recipe, const Plan& plan, const Hardware& hardware) const;
  EvidenceAnswer look_up(const Recipe& recipe, const Plan& plan, const Hardware& hardware) const;
  const Implementation& select_or_throw(const Problem& problem, const PartPath* path) const;
  FoundCall prepare_call(const void* args, Stream stream, const Key& key, bool is_known);
  // The equal call of another thread if that was first.
  FoundCall remember(std::unique_ptr<PreparedCall> call, const void* args, int device_index);
  void require_device(const Hardware& hardware) const;
  const Plan* find_plan(const std::string& id) const;

  Context& context_;
  const OperationBinding& selection_;
  // Of context and selection, side by side: a call reads them when the driver has emptied the
  // caches.
  const Contract& contract_;
  DevicePort& device_;
  const DeviceKind device_kind_;

  mutable std::shared_mutex mutex_;  // guards the three maps; entries are immutable
  std::unordered_map<Key, std::unique_ptr<PreparedCall>, KeyHash> calls_;
  std::unordered_map<Key, std::shared_ptr<const PreparedCall>, KeyHash> passing_;
  std::unordered_map<std::string, std::unique_ptr<Plan>> plans_;
  std::mutex build_mutex_;  // one build at a time per binding
};

}  // namespace kw
