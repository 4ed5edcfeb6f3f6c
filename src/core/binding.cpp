// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/binding.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/core/context_state.hpp"

namespace kw {
namespace {

// A part of a composed plan: the plan of another binding, which lives as long as the context.
class BoundPart : public PreparedPart {
 public:
  BoundPart(const Plan& plan, const Contract& contract, WorkspaceSize workspace) : plan_(plan), contract_(contract), workspace_(workspace) {}
  const Contract& contract() const noexcept override { return contract_; }
  const std::string& implementation() const noexcept override { return plan_.implementation().info.name; }
  Status launch(const void* args, const LaunchFrame& frame) const noexcept override {
    return plan_.implementation().functions.launch(plan_.get(), args, frame);
  }
  WorkspaceSize workspace() const noexcept override { return workspace_; }

 private:
  const Plan& plan_;
  const Contract& contract_;
  WorkspaceSize workspace_;
};

StatusCode status_of(Code code) noexcept {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kNotFound:
      return StatusCode::kInvalidArgument;
    case Code::kUnsupported:
      return StatusCode::kUnsupported;
    case Code::kEnvironment:
      return StatusCode::kDevice;
    default:
      return StatusCode::kInternal;
  }
}

// A call whose plan may not be built now. Caught in call_slow, which counts it.
struct NotPrepared {
  std::string message;
};

}  // namespace

Status Binding::launch(const PreparedCall& call, const void* args, Stream stream) const noexcept {
  LaunchFrame frame{stream.handle, nullptr};
  if (call.workspace.bytes > 0) {
    DevicePort& port = stream.port != nullptr ? *stream.port : context_.device();
    frame.workspace = port.workspace(stream.handle, call.workspace.bytes);
    if (frame.workspace == nullptr) return {StatusCode::kNotPrepared};
  }
  return call.plan->implementation().functions.launch(call.plan->get(), args, frame);
}

Status Binding::call_slow(const void* args, Stream stream, const PreparedCall** prepared) noexcept {
  try {
    check_call(contract(), selection_.variant, args);
    DevicePort& port = stream.port != nullptr ? *stream.port : context_.device();
    Key key;
    if (inspect_call(contract(), args, port.hardware().index, key) == CallCheck::kKeyTooLong) {
      fail(Code::kUnsupported, "{}: a call with this many tensors of different shapes does not fit a key of {} bytes; split the call", selection_.label(), Key::kCapacity);
    }
    {
      const std::shared_lock lock(mutex_);
      const auto it = calls_.find(key);
      if (it != calls_.end()) *prepared = it->second.get();
    }
    // A known call that comes here may lack workspace on this stream.
    if (*prepared == nullptr || (*prepared)->workspace.bytes > 0) *prepared = &prepare_call(args, stream, key);
    return launch(**prepared, args, stream);
  } catch (const NotPrepared& refusal) {
    context_.state_->not_prepared.fetch_add(1, std::memory_order_relaxed);
    return failed(StatusCode::kNotPrepared, refusal.message);
  } catch (const Error& error) {
    return failed(status_of(error.code()), error.what());
  } catch (const std::exception& error) {
    return failed(StatusCode::kInternal, error.what());
  }
}

const PreparedCall& Binding::prepare_call(const void* args, Stream stream, const Key& key) {
  DevicePort& port = stream.port != nullptr ? *stream.port : context_.device();
  Problem problem = problem_from_args(contract(), selection_.variant, args);
  check(problem);
  context_.state_->misses.fetch_add(1, std::memory_order_relaxed);

  const Implementation& implementation = select_or_throw(problem);
  const Specialization specialization = implementation.functions.choose(implementation.self, problem, port.hardware(), {});
  const WorkspaceSize workspace = implementation.functions.workspace(implementation.self, problem);
  const Plan* plan = find_plan(plan_id(implementation, specialization, port));
  const bool short_of_workspace = workspace.bytes > 0 && port.workspace(stream.handle, workspace.bytes) == nullptr;
  if (plan == nullptr || short_of_workspace) {
    const bool capturing = port.is_capturing(stream.handle);
    if (capturing || !context_.settings().prepare_on_miss) {
      throw NotPrepared{problem.label() + ": not prepared, and " + (capturing ? "the stream is capturing" : "prepare_on_miss is off") +
                        "; before this call, prepare the problem '" + problem_text(problem) + "' (Context::prepare, or one call outside capture)"};
    }
    if (plan == nullptr) plan = &prepare(problem, port, {});
    if (short_of_workspace) port.reserve_workspace(stream.handle, workspace.bytes, workspace.zeroed_bytes);
  }

  auto call = std::make_unique<PreparedCall>();
  call->plan = plan;
  call->workspace = workspace;
  call->key = key;
  const std::unique_lock lock(mutex_);
  context_.state_->problems_prepared.fetch_add(1, std::memory_order_relaxed);
  return *calls_.try_emplace(key, std::move(call)).first->second;
}

const Plan* Binding::find_plan(const std::string& id) const {
  const std::shared_lock lock(mutex_);
  const auto it = plans_.find(id);
  return it == plans_.end() ? nullptr : it->second.get();
}

const Plan& Binding::prepare(const Problem& problem, DevicePort& device, const CfgPins& pins) {
  const Implementation& implementation = select_or_throw(problem);
  Specialization specialization = implementation.functions.choose(implementation.self, problem, device.hardware(), pins);
  const std::string id = plan_id(implementation, specialization, device);
  const std::lock_guard building(build_mutex_);
  if (const Plan* plan = find_plan(id)) return *plan;

  std::vector<std::unique_ptr<PreparedPart>> parts;
  if (implementation.info.parts != nullptr) {
    for (const Problem& part : implementation.info.parts(problem, context_.catalog())) {
      Binding& binding = context_.binding(part.operation(), part.variant_name());
      const Plan& plan = binding.prepare(part, device, {});
      const Implementation& used = plan.implementation();
      parts.push_back(std::make_unique<BoundPart>(plan, binding.contract(), used.functions.workspace(used.self, part)));
    }
  }
  PrepareRequest request{problem, specialization, device, parts};
  void* raw = implementation.functions.prepare(implementation.self, request);
  auto plan = std::make_unique<Plan>(implementation, std::move(specialization), std::move(parts), raw);
  context_.state_->plans_built.fetch_add(1, std::memory_order_relaxed);
  const std::unique_lock lock(mutex_);
  return *plans_.try_emplace(id, std::move(plan)).first->second;
}

const Implementation& Binding::select_or_throw(const Problem& problem) const {
  const Bindings& all = context_.bindings();
  if (const Implementation* selected = select(selection_, all, problem, context_.catalog(), nullptr)) return *selected;
  std::vector<Verdict> verdicts;
  select(selection_, all, problem, context_.catalog(), &verdicts);
  std::string text;
  for (const Verdict& verdict : verdicts) text += "\n  " + verdict.implementation + ": " + verdict.reason;
  if (verdicts.empty()) text = " " + selection_.absent;
  // Who would accept, had the choice not excluded it.
  OperationBinding open = selection_;
  open.candidates.clear();
  for (const Verdict& verdict : selection_.verdicts) {
    if (verdict.gate == Gate::kChoice) open.candidates.push_back(context_.catalog().find_implementation(verdict.implementation).second);
  }
  verdicts.clear();
  select(open, all, problem, context_.catalog(), &verdicts);
  std::vector<std::string> able;
  for (const Verdict& verdict : verdicts) {
    if (verdict.gate == Gate::kSelected || verdict.gate == Gate::kRank) able.push_back(verdict.implementation);
  }
  fail(Code::kUnsupported, "no implementation serves '{}' (choice {} from {}):{}\nWould accept: {}", problem_text(problem),
       selection_.choice.text(), selection_.choice.origin, text, able.empty() ? "the model's own code (eager) only" : join(able) + ", when named");
}

}  // namespace kw
