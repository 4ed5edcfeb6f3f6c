// SPDX-License-Identifier: Apache-2.0
// What is validated and timed: something that runs calls of one operation/variant. The usual one
// goes through a Context that binds the requested implementation, as model code would.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernelwright/core/binding.hpp"
#include "kernelwright/core/context.hpp"
#include "kernelwright/core/slot.hpp"
#include "kernelwright/runtime/device.hpp"
#include "kernelwright/suite/result.hpp"

namespace kw::suite {

class Callable {
 public:
  virtual ~Callable() = default;
  // Whether `problem` is in the domain; asked for the smaller calls that a case makes beside its
  // own.
  virtual bool accepts(const Problem&) const { return true; }
  // Readies calls of `problem` and says what workspace they use. Throws.
  virtual WorkspaceSize prepare(const Problem& problem) = 0;
  // Makes one call, done when the null stream is; `arguments` have the layout of a prepared
  // problem.
  virtual Status call(const Arguments& arguments) noexcept = 0;
  // Where calls get their workspace; null: from the pool of the device, which reserve() fills.
  virtual void set_workspace(WorkspaceSource*) noexcept {}
  // Makes room for calls of the last prepared problem on `stream`.
  virtual void reserve(void* /*stream*/) {}
  // Enqueues one call in whatever mode, from any thread.
  virtual Status call_on(const Arguments& arguments, void* /*stream*/) noexcept {
    return call(arguments);
  }
  // The same bound anew on `port`, with nothing prepared. Null: it cannot.
  virtual std::unique_ptr<Callable> bind_again(runtime::Device& /*port*/) const { return nullptr; }
  // Whether a child process can call: not through another language's runtime.
  virtual bool survives_fork() const noexcept { return false; }
  // Whether calls look at their arguments first, as a slot does.
  virtual bool validates() const noexcept { return true; }
  // Whether a call is a captured graph that can run again, on what its memory holds then.
  virtual bool can_replay() const noexcept { return false; }
  // Runs the graph of the last call again and waits.
  virtual Status replay() noexcept { return failed(StatusCode::kUnsupported, "nothing to replay"); }
};

// A case that an implementation does not serve: which gate said so.
struct Declined {
  Reason reason = Reason::kDomainExcluded;
  std::string text;
};

// One implementation bound on its own.
class BoundImplementation final : public Callable {
 public:
  // Binds `implementation` (exact name) of `operation` on `device`. `overrides` are the
  // environment's: one that would bind another implementation throws Error(kConflict); those of
  // other operations hold for parts. With pins, calls go to the plan of the pinned Cfg, without
  // slot. In graph mode, on a device that has graphs, a call is captured, replayed and awaited.
  BoundImplementation(Catalog& catalog, runtime::Device& device,
                      const Implementation& implementation, const Contract& contract,
                      const CfgPins& pins, Mode mode,
                      const std::map<std::string, std::string>& overrides);
  ~BoundImplementation() override;

  const Implementation& implementation() const noexcept { return implementation_; }
  Context& context() noexcept { return context_; }
  // Without running anything.
  std::optional<Declined> declines(const Problem& problem) const;

  bool accepts(const Problem& problem) const override { return !declines(problem); }
  WorkspaceSize prepare(const Problem& problem) override;
  Status call(const Arguments& arguments) noexcept override;
  bool can_replay() const noexcept override { return graph_ != nullptr; }
  Status replay() noexcept override;
  void set_workspace(WorkspaceSource* source) noexcept override { workspace_ = source; }
  void reserve(void* stream) override;
  Status call_on(const Arguments& arguments, void* stream) noexcept override;
  std::unique_ptr<Callable> bind_again(runtime::Device& port) const override;
  bool survives_fork() const noexcept override;
  bool validates() const noexcept override { return pins_.empty(); }
  // Cfg text of the last prepared problem.
  const std::string& specialization() const noexcept { return specialization_; }
  // Its plan, which lives as long as this object.
  const Plan& plan() const noexcept { return *plan_; }

 private:
  const Implementation& implementation_;
  const Contract& contract_;
  CfgPins pins_;
  Catalog& catalog_;
  runtime::Device& device_;
  const Mode mode_;
  const std::map<std::string, std::string> overrides_;
  Context context_;
  WorkspaceSource* workspace_ = nullptr;
  WorkspaceSize workspace_size_;                // of the last prepared problem
  runtime::Device* graph_device_ = nullptr;     // in graph mode, where there are graphs
  runtime::OwnedStream graph_stream_;           // the same
  std::unique_ptr<runtime::Graph> graph_;       // of the last call; null when it held nothing
  std::vector<std::unique_ptr<OpSlot>> slots_;  // one per variant, bound on first use
  OpSlot* slot_ = nullptr;                      // of the last prepared problem
  Binding* binding_ = nullptr;                  // the same
  std::unique_ptr<PreparedCall> pinned_;        // the same, with pins
  const Plan* plan_ = nullptr;                  // the same
  std::string specialization_;                  // the same
};

}  // namespace kw::suite
