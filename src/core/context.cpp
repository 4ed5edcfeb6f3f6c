// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/context.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/log.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/core/context_state.hpp"
#include "kernelwright/core/slot.hpp"

namespace kw {
namespace {

std::mutex default_mutex;
std::unique_ptr<Context> default_context;  // guarded by default_mutex

}  // namespace

Context::Context(Catalog& catalog, Settings settings, DevicePort& device)
    : catalog_(catalog),
      settings_(std::move(settings)),
      device_(device),
      bindings_(resolve(catalog, settings_, device.hardware())),
      state_(std::make_unique<State>()) {}

Context::~Context() = default;

Context& Context::initialize(Catalog& catalog, Settings settings, DevicePort& device) {
  const std::lock_guard lock(default_mutex);
  if (default_context == nullptr) {
    default_context = std::make_unique<Context>(catalog, std::move(settings), device);
  } else if (&default_context->device_ != &device ||
             !default_context->settings_.same_effect(settings)) {
    fail(Code::kConflict,
         "kernelwright is already initialised in this process with {} on {}; asked for {} on {}. "
         "Plans and graphs depend on the first; use a new process, or a Context of your own",
         default_context->settings_.text(), default_context->device_.hardware().model,
         settings.text(), device.hardware().model);
  }
  return *default_context;
}

Context* Context::process_default() noexcept {
  const std::lock_guard lock(default_mutex);
  return default_context.get();
}

Binding& Context::binding(std::string_view operation, std::string_view variant) {
  catalog_.operation(operation).contract->variant_index(variant);  // throw, with the nearest name
  const OperationBinding* selection = bindings_.find(operation, variant);
  const std::lock_guard lock(state_->mutex);
  auto& binding = state_->bindings[selection];
  if (binding == nullptr) binding = std::make_unique<Binding>(*this, *selection);
  return *binding;
}

BindReport Context::bind(SlotSet& slots) {
  BindReport report;
  std::vector<Binding*> decisions;
  for (const OpSlot* slot : slots.slots()) {
    SlotReport row{std::string(slot->operation()), std::string(slot->variant()), "eager", {}, {}};
    decisions.push_back(decide(row));
    report.slots.push_back(std::move(row));
  }
  // Nothing is attached until every slot of the set has its decision.
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    slots.slots()[i]->attach(decisions[i]);
    const SlotReport& row = report.slots[i];
    log(LogLevel::kInfo, "bind",
        "kw,bind," + row.operation + "/" + row.variant + "," + row.bound + "," + row.reason);
  }
  for (const auto& entry : settings_.file_fields()) {  // clang 14: lambdas capture no binding
    const std::string &field = entry.first, &target = entry.second;
    const bool used =
        std::any_of(report.slots.begin(), report.slots.end(), [&](const SlotReport& row) {
          return target == row.operation || target == row.operation + "/" + row.variant;
        });
    if (used) continue;
    report.unused_fields.push_back(field);
    log(LogLevel::kWarning, "bind",
        "field '" + field + "' is given, but the model has no slot for it");
  }
  return report;
}

// Fills `row` and returns the binding, or null for the model's own code.
Binding* Context::decide(SlotReport& row) {
  if (catalog_.find(row.operation) == nullptr) {
    const auto& known = catalog_.known_fields();
    const bool planned = std::any_of(known.begin(), known.end(), [&](const KnownField& field) {
      return field.operation == row.operation;
    });
    if (!planned) catalog_.operation(row.operation);  // throws, with the nearest name
    row.reason = "operation not in this build";
    return nullptr;
  }
  Binding& binding = this->binding(row.operation, row.variant);
  const OperationBinding& selection = binding.selection();
  row.origin = selection.choice.origin;
  if (!selection.candidates.empty()) {
    row.bound = selection.candidates.front()->info.name;
    row.reason = selection.choice.text();
    return &binding;
  }
  row.reason = selection.absent;
  if (selection.strict && !selection.choice.is_eager()) {
    std::vector<std::string> serving;
    for (const Verdict& verdict : selection.verdicts) {
      if (verdict.gate == Gate::kChoice) serving.push_back(verdict.implementation);
    }
    fail(Code::kUnsupported, "slot {}: '{}' was asked for ({}), but {}. Available for {} here: {}",
         selection.label(), selection.choice.text(), selection.choice.origin, row.reason,
         selection.label(), serving.empty() ? "eager only" : join(serving) + ", eager");
  }
  return nullptr;
}

const Implementation& Context::prepare(const Problem& problem, const CfgPins& pins, Stream stream) {
  DevicePort& port = stream.port != nullptr ? *stream.port : device_;
  Binding& binding = this->binding(problem.operation(), problem.variant_name());
  const Recipe recipe = binding.decide(problem, port, pins);
  const Plan& plan = binding.build(recipe, port);
  if (!problem.has_free_dims() && recipe.workspace.bytes > 0) {
    port.reserve_workspace(stream.handle, recipe.workspace.bytes, recipe.workspace.zeroed_bytes);
  }
  return plan.implementation();
}

Counters Context::counters() const noexcept {
  return {state_->plans_built.load(), state_->problems_prepared.load(), state_->misses.load(),
          state_->not_prepared.load()};
}

}  // namespace kw
