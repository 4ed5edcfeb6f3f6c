// SPDX-License-Identifier: Apache-2.0
// The plans of one operation/variant inside a context, and the way from a call to its launch.
// Private to core: model code sees a slot.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernelwright/core/context.hpp"

namespace kw {

// A prepared specialization; many problems share one. Destroys its plan.
class Plan {
 public:
  Plan(const Implementation& implementation, Specialization specialization,
       std::vector<std::unique_ptr<PreparedPart>> parts, void* plan) noexcept
      : implementation_(implementation), specialization_(std::move(specialization)), parts_(std::move(parts)), plan_(plan) {}
  ~Plan() { implementation_.functions.destroy(plan_); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const Implementation& implementation() const noexcept { return implementation_; }
  const Specialization& specialization() const noexcept { return specialization_; }
  const void* get() const noexcept { return plan_; }
  PlanFacts describe() const { return implementation_.functions.describe(plan_); }

 private:
  const Implementation& implementation_;
  Specialization specialization_;
  std::vector<std::unique_ptr<PreparedPart>> parts_;  // outlives plan_, which may point into it
  void* plan_;
};

// One validated call: an equal key needs no further check.
struct PreparedCall {
  Key key;
  const Plan* plan = nullptr;
  WorkspaceSize workspace;
};

class Binding {
 public:
  Binding(Context& context, const OperationBinding& selection) : context_(context), selection_(selection) {}
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  const Contract& contract() const noexcept { return *selection_.operation->contract; }
  const OperationBinding& selection() const noexcept { return selection_; }
  DevicePort& device() const noexcept { return context_.device(); }

  // Launches a prepared call. Null workspace on `stream`: returns kNotPrepared with no message.
  Status launch(const PreparedCall& call, const void* args, Stream stream) const noexcept;
  // Everything a hit does not need: validates, finds or builds the plan, remembers the key.
  // Sets `*prepared` when the call is prepared now.
  Status call_slow(const void* args, Stream stream, const PreparedCall** prepared) noexcept;

  // The plan for a problem, built if need be.
  const Plan& prepare(const Problem& problem, DevicePort& device, const CfgPins& pins);

  // The implementation that serves `problem`; throws Error with every candidate's rejection.
  const Implementation& select_or_throw(const Problem& problem) const;

 private:
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept { return key.hash(); }
  };

  const PreparedCall& prepare_call(const void* args, Stream stream, const Key& key);
  const Plan* find_plan(const std::string& id) const;

  Context& context_;
  const OperationBinding& selection_;

  mutable std::shared_mutex mutex_;  // guards the two maps; entries are immutable and stay
  std::unordered_map<Key, std::unique_ptr<PreparedCall>, KeyHash> calls_;
  std::unordered_map<std::string, std::unique_ptr<Plan>> plans_;
  std::mutex build_mutex_;  // one build at a time per binding
};

}  // namespace kw
