// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/binding.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/ranges.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/core/context_state.hpp"

namespace kw {
namespace {

// A part of a composed plan: the plan of another binding, which lives as long as the context.
class BoundPart : public PreparedPart {
 public:
  BoundPart(const Plan& plan, const Contract& contract, std::size_t index)
      : plan_(plan), contract_(contract), index_(index) {}
  const Contract& contract() const noexcept override { return contract_; }
  const std::string& implementation() const noexcept override {
    return plan_.implementation().info.name;
  }
  Status launch(const void* args, const LaunchFrame& frame) const noexcept override {
    LaunchFrame own{frame.stream, nullptr, nullptr, nullptr};
    if (frame.layout != nullptr) {
      own.layout = &frame.layout->parts[index_];
      own.block = frame.block;
      own.workspace = own.block + own.layout->offset;
    }
    return plan_.implementation().functions.launch(plan_.get(), args, own);
  }

 private:
  const Plan& plan_;
  const Contract& contract_;
  std::size_t index_;
};

constexpr std::int64_t aligned(std::int64_t bytes) noexcept {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

void shift(WorkspaceLayout& layout, std::int64_t bytes) noexcept {
  layout.offset += bytes;
  for (WorkspaceLayout& part : layout.parts) shift(part, bytes);
}

// Adds to a recipe's own workspace what its parts need, one at a time:
//   | longest zeros of a part | largest scratch of a part | own |
// A part begins its own zeros before the end of the longest, so that every part's scratch follows.
void lay_out_workspace(Recipe& recipe) {
  const std::string& name = recipe.implementation->info.name;
  const WorkspaceSize own = recipe.workspace;
  if (own.bytes < 0 || own.zeroed_bytes < 0 || own.zeroed_bytes > own.bytes ||
      own.zeroed_bytes % kWorkspaceAlignment != 0) {
    fail(Code::kInternal,
         "{}: workspace of {} bytes with the first {} zero; the prefix lies within it and is a "
         "multiple of {}",
         name, own.bytes, own.zeroed_bytes, kWorkspaceAlignment);
  }
  if (recipe.parts.empty()) return;
  if (own.zeroed_bytes > 0)
    fail(Code::kInternal,
         "{}: the own workspace of a composed implementation has no zeroed bytes; it asks for {}",
         name, own.zeroed_bytes);
  WorkspaceSize shared;
  std::int64_t scratch = 0;
  for (const Recipe& part : recipe.parts) {
    shared.zeroed_bytes = std::max(shared.zeroed_bytes, part.workspace.zeroed_bytes);
    scratch = std::max(scratch, part.workspace.bytes - part.workspace.zeroed_bytes);
  }
  shared.bytes = shared.zeroed_bytes + aligned(scratch);
  for (const Recipe& part : recipe.parts) {
    shift(recipe.layout.parts.emplace_back(part.layout),
          shared.zeroed_bytes - part.workspace.zeroed_bytes);
  }
  recipe.layout.offset = shared.bytes;
  recipe.workspace = {shared.bytes + own.bytes, shared.zeroed_bytes};
}

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

Status Binding::call_slow(const void* args, Stream stream, const PreparedCall** staying) noexcept {
  try {
    check_call(contract(), selection_.variant, args);
    DevicePort& port = port_of(stream);
    require_device(port.hardware());
    Key key;
    if (inspect_call(contract(), args, port.hardware().index, key) == CallCheck::kKeyTooLong) {
      fail(Code::kUnsupported,
           "{}: a call with this many tensors of different shapes does not fit a key of {} bytes; "
           "split the call",
           selection_.label(), Key::kCapacity);
    }
    FoundCall found = find_call(key);
    const bool is_known = found.call != nullptr;
    if (is_known) {
      const Status status = launch(*found.call, args, port, stream);
      if (status.code != StatusCode::kNotPrepared) {
        if (found.stays()) *staying = found.call;
        return status;
      }  // else this stream lacks workspace
    }
    found = prepare_call(args, stream, key, is_known);
    if (found.stays()) *staying = found.call;
    const Status status = launch(*found.call, args, port, stream);
    if (status.code != StatusCode::kNotPrepared) return status;
    const auto [bytes, zeroed_bytes] = found.call->workspace;
    if (stream.workspace == nullptr) {
      fail(Code::kInternal, "{}: the stream has no workspace after reserving it",
           selection_.label());
    }
    fail(Code::kInvalidArgument, "{}: the caller has no workspace of {} bytes, the first {} zero",
         selection_.label(), bytes, zeroed_bytes);
  } catch (const NotPrepared& refusal) {
    context_.state_->not_prepared.fetch_add(1, std::memory_order_relaxed);
    return failed(StatusCode::kNotPrepared, refusal.message);
  } catch (const Error& error) {
    return failed(status_of(error.code()), error.what());
  } catch (const std::exception& error) {
    return failed(StatusCode::kInternal, error.what());
  }
}

// Candidates were filtered for one kind and capability; several devices of it may share a context.
void Binding::require_device(const Hardware& hardware) const {
  const Hardware& resolved = context_.bindings().hardware;
  if (hardware.kind == resolved.kind && hardware.capability == resolved.capability) return;
  const auto text = [](const Hardware& h) {
    return fmt::format("{}:{} ({}, capability {})", device_kind_name(h.kind), h.index, h.model,
                       capability_text(h.kind, h.capability));
  };
  fail(Code::kInvalidArgument,
       "{}: the stream belongs to {}, but the slot was bound for {}; bind another slot set with a "
       "context of that device",
       selection_.label(), text(hardware), text(resolved));
}

FoundCall Binding::find_call(const Key& key) const noexcept {
  const std::shared_lock lock(mutex_);
  if (const auto it = calls_.find(key); it != calls_.end()) return {it->second.get(), nullptr};
  const auto it = passing_.find(key);
  return it == passing_.end() ? FoundCall{} : FoundCall{it->second.get(), it->second};
}

std::size_t Binding::remembered_calls() const {
  const std::shared_lock lock(mutex_);
  return calls_.size() + passing_.size();
}

FoundCall Binding::remember(std::unique_ptr<PreparedCall> call, const void* args,
                            int device_index) {
  const Key key = call->key;
  const std::unique_lock lock(mutex_);
  if (const auto it = calls_.find(key); it != calls_.end()) return {it->second.get(), nullptr};
  if (const auto it = passing_.find(key); it != passing_.end()) {
    return {it->second.get(), it->second};
  }
  context_.state_->problems_prepared.fetch_add(1, std::memory_order_relaxed);
  if (calls_.size() < kStayingCalls) {
    call->pattern = CallPattern(contract(), args, device_index);
    return {calls_.emplace(key, std::move(call)).first->second.get(), nullptr};
  }
  if (passing_.size() == kPassingCalls) passing_.clear();
  const auto passing = passing_.emplace(key, std::move(call)).first->second;
  return {passing.get(), passing};
}

FoundCall Binding::prepare_call(const void* args, Stream stream, const Key& key, bool is_known) {
  DevicePort& port = port_of(stream);
  Problem problem = problem_from_args(contract(), selection_.variant, args);
  check(problem);
  if (!is_known) context_.state_->misses.fetch_add(1, std::memory_order_relaxed);

  const Recipe recipe = decide(problem, port, {});
  const WorkspaceSize& workspace = recipe.workspace;
  const Plan* plan = find_plan(recipe.id);
  const bool short_of_workspace =
      workspace.bytes > 0 && stream.workspace == nullptr &&
      port.workspace(stream.handle, workspace.bytes, workspace.zeroed_bytes) == nullptr;
  if (plan == nullptr || short_of_workspace) {
    const bool capturing = port.is_capturing(stream.handle);
    if (capturing || !context_.settings().prepare_on_miss) {
      throw NotPrepared{problem.label() + ": not prepared, and " +
                        (capturing ? "the stream is capturing" : "prepare_on_miss is off") +
                        (plan == nullptr
                             ? ""
                             : "; its plan exists, but this stream lacks " +
                                   std::to_string(workspace.bytes) + " bytes of workspace") +
                        "; before this call, pass the problem '" + problem_text(problem) +
                        "' and the stream to Context::prepare" +
                        (capturing ? ", or make the call once outside capture" : "")};
    }
    plan = &build(recipe, port);
    if (short_of_workspace)
      port.reserve_workspace(stream.handle, workspace.bytes, workspace.zeroed_bytes);
  }

  auto call = std::make_unique<PreparedCall>();
  call->key = key;
  call->plan = plan;
  call->workspace = workspace;
  call->layout = recipe.layout;
  call->launch = plan->implementation().functions.launch;
  call->raw_plan = plan->get();
  return remember(std::move(call), args, port.hardware().index);
}

const Plan* Binding::find_plan(const std::string& id) const {
  const std::shared_lock lock(mutex_);
  const auto it = plans_.find(id);
  return it == plans_.end() ? nullptr : it->second.get();
}

Recipe Binding::decide(const Problem& problem, DevicePort& device, const CfgPins& pins,
                       const PartPath* path) {
  const Implementation& implementation = select_or_throw(problem, path);
  Recipe recipe{this, problem, &implementation, {}, {}, {}, {}, {}, pins};
  recipe.specialization =
      implementation.functions.choose(implementation.self, problem, device.hardware(), pins);
  recipe.workspace = implementation.functions.workspace(implementation.self, problem);
  recipe.id = std::to_string(device.hardware().index) + " " + implementation.info.name + " " +
              recipe.specialization.text;
  if (implementation.info.parts != nullptr) {
    const PartPath here{&implementation, path};
    for (const Problem& part : implementation.info.parts(problem, context_.catalog())) {
      recipe.parts.push_back(
          context_.binding(part.operation(), part.variant_name()).decide(part, device, {}, &here));
      recipe.id += " (" + recipe.parts.back().id + ")";
    }
  }
  lay_out_workspace(recipe);
  return recipe;
}

std::vector<std::unique_ptr<PreparedPart>> Binding::build_parts(const Recipe& recipe,
                                                                DevicePort& device) {
  std::vector<std::unique_ptr<PreparedPart>> parts;
  for (const Recipe& part : recipe.parts) {
    parts.push_back(std::make_unique<BoundPart>(part.binding->build(part, device),
                                                part.binding->contract(), parts.size()));
  }
  return parts;
}

std::unique_ptr<Plan> Binding::make_plan(const Recipe& recipe,
                                         std::vector<std::unique_ptr<PreparedPart>> parts,
                                         DevicePort& device) {
  const Range range("prepare", recipe.implementation->info.name);
  PrepareRequest request{recipe.problem, recipe.specialization, device, parts};
  void* raw = recipe.implementation->functions.prepare(recipe.implementation->self, request);
  return std::make_unique<Plan>(*recipe.implementation, recipe.specialization, std::move(parts),
                                raw);
}

const Plan& Binding::build(const Recipe& recipe, DevicePort& device) {
  if (const Plan* plan = find_plan(recipe.id)) return *plan;
  // Parts first, outside the lock: a part may be of this binding.
  std::vector<std::unique_ptr<PreparedPart>> parts = build_parts(recipe, device);
  const std::lock_guard building(build_mutex_);
  if (const Plan* plan = find_plan(recipe.id)) return *plan;
  std::unique_ptr<Plan> plan = make_plan(recipe, std::move(parts), device);
  if (context_.settings().require_evidence) require_evidence(recipe, *plan, device.hardware());
  context_.state_->plans_built.fetch_add(1, std::memory_order_relaxed);
  const std::unique_lock lock(mutex_);
  return *plans_.try_emplace(recipe.id, std::move(plan)).first->second;
}

EvidenceAnswer Binding::look_up(const Recipe& recipe, const Plan& plan,
                                const Hardware& hardware) const {
  const EvidenceGate* gate = context_.catalog().evidence_gate();
  if (gate == nullptr) {
    return {false, "the catalog has no store of evidence; Catalog::set_evidence_gate gives it one"};
  }
  const PlanFacts facts = plan.describe();
  return gate->look_up({*recipe.implementation, recipe.problem, recipe.specialization, recipe.pins,
                        facts, hardware, context_.settings().mode});
}

EvidenceAnswer Binding::evidence_for(const Recipe& recipe, DevicePort& device) {
  if (const Plan* plan = find_plan(recipe.id)) return look_up(recipe, *plan, device.hardware());
  const auto plan = make_plan(recipe, build_parts(recipe, device), device);
  return look_up(recipe, *plan, device.hardware());
}

void Binding::require_evidence(const Recipe& recipe, const Plan& plan,
                               const Hardware& hardware) const {
  const EvidenceAnswer answer = look_up(recipe, plan, hardware);
  if (answer.found) return;
  fail(Code::kUnsupported,
       "{} would serve '{}', but require_evidence is on ({}) and it is not known to have passed "
       "numerics on {}: {}",
       recipe.implementation->info.name, problem_text(recipe.problem),
       context_.settings().require_evidence_origin, hardware.model, answer.text);
}

const Implementation& Binding::select_or_throw(const Problem& problem, const PartPath* path) const {
  const Bindings& all = context_.bindings();
  if (const Implementation* selected =
          select(selection_, all, problem, context_.catalog(), nullptr, path))
    return *selected;
  std::vector<Verdict> verdicts;
  select(selection_, all, problem, context_.catalog(), &verdicts);
  std::string text;
  for (const Verdict& verdict : verdicts)
    text += "\n  " + verdict.implementation + ": " + verdict.reason;
  if (verdicts.empty()) text = " " + selection_.absent;
  // Who would accept, had the choice not excluded it.
  OperationBinding open = selection_;
  open.candidates.clear();
  for (const Verdict& verdict : selection_.verdicts) {
    if (verdict.gate == Gate::kChoice)
      open.candidates.push_back(
          context_.catalog().find_implementation(verdict.implementation).second);
  }
  verdicts.clear();
  select(open, all, problem, context_.catalog(), &verdicts);
  std::vector<std::string> able;
  for (const Verdict& verdict : verdicts) {
    if (verdict.gate == Gate::kSelected || verdict.gate == Gate::kRank)
      able.push_back(verdict.implementation);
  }
  fail(Code::kUnsupported, "no implementation serves '{}' (choice {} from {}):{}\nWould accept: {}",
       problem_text(problem), selection_.choice.text(), selection_.choice.origin, text,
       able.empty() ? "the model's own code (eager) only" : join(able) + ", when named");
}

}  // namespace kw
