// SPDX-License-Identifier: Apache-2.0
// Private: one problem with its implementation and Cfg fixed, launched by whoever fits it.
#pragma once

#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "kernelwright/capi/place.hpp"
#include "kernelwright/core/binding.hpp"

namespace kw::capi {

// Where a call of one key finds its scratch.
struct CallScratch {
  WorkspaceSize size;
  WorkspaceLayout layout;
};

// Callable from any thread. Its plan belongs to the context, which lives as long as the process.
class FixedPlan {
 public:
  // Keys that are remembered; together they are forgotten when there are more.
  static constexpr std::size_t kRememberedCalls = 4096;

  // Prepares. Throws Error.
  FixedPlan(const Place& place, Problem problem, CfgPins pins);

  const Problem& problem() const noexcept { return recipe_.problem; }
  const Recipe& recipe() const noexcept { return recipe_; }
  const Contract& contract() const noexcept { return binding_.contract(); }
  DevicePort& port() const noexcept { return port_; }
  PlanFacts facts() const { return plan_.describe(); }

  // Validates a call and says what it needs. Throws Error(kInvalidArgument) when it is wrong, or
  // the plan was made for another.
  std::shared_ptr<const CallScratch> fit(const void* args);
  // Makes the library's own workspace when the caller brings none, outside capture. Throws Error.
  void require_workspace(const CallScratch& scratch, const Stream& stream) const;
  Status launch(const void* args, const CallScratch& scratch, const Stream& stream) const noexcept;

  // As `fit`, for arguments without addresses of outputs.
  WorkspaceSize workspace(const void* args);

 private:
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept { return key.hash(); }
  };

  Problem problem_of(const void* args) const;
  // The recipe of a call that this plan serves.
  Recipe decide(const Problem& call) const;

  Binding& binding_;
  DevicePort& port_;
  const CfgPins pins_;
  const Recipe recipe_;
  const Plan& plan_;
  std::shared_mutex mutex_;  // guards calls_
  std::unordered_map<Key, std::shared_ptr<const CallScratch>, KeyHash> calls_;
};

}  // namespace kw::capi
