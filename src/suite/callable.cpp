// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/callable.hpp"

#include <utility>

#include "kernelwright/base/fail.hpp"

namespace kw::suite {
namespace {

Settings settings_for(const Catalog& catalog, const Implementation& implementation,
                      const Contract& contract, Mode mode,
                      const std::map<std::string, std::string>& overrides) {
  const std::string& operation = contract.operation;
  std::map<std::string, std::string> others = overrides;
  if (const auto it = others.find(operation); it != others.end()) {
    if (it->second != implementation.info.name && it->second != implementation.info.solution) {
      fail(Code::kConflict,
           "asked to run {}, but the environment overrides '{}' with '{}'; unset the override or "
           "ask for what it names",
           implementation.info.name, operation, it->second);
    }
    others.erase(it);
  }
  Settings settings;
  settings.mode = mode;
  settings.set(catalog, operation, {implementation.info.name}, Source::kExplicit, "suite");
  settings.apply_environment(catalog, others);
  return settings;
}

Reason reason_of(Gate gate) {
  switch (gate) {
    case Gate::kDependency:
      return Reason::kDependencyMissing;
    case Gate::kDevice:
    case Gate::kCapability:
    case Gate::kMode:
      return Reason::kHardwareUnmet;
    case Gate::kVariant:
      return Reason::kNotImplemented;
    default:
      return Reason::kDomainExcluded;
  }
}

}  // namespace

BoundImplementation::BoundImplementation(Catalog& catalog, runtime::Device& device,
                                         const Implementation& implementation,
                                         const Contract& contract, const CfgPins& pins, Mode mode,
                                         const std::map<std::string, std::string>& overrides)
    : implementation_(implementation),
      contract_(contract),
      pins_(pins),
      catalog_(catalog),
      device_(device),
      mode_(mode),
      overrides_(overrides),
      context_(catalog, settings_for(catalog, implementation, contract, mode, overrides), device),
      slots_(contract.variants.size()) {
  if (mode != Mode::kGraph || !device.has_graphs()) return;
  graph_device_ = &device;
  graph_stream_ = runtime::OwnedStream(device);
}

BoundImplementation::~BoundImplementation() = default;

std::optional<Declined> BoundImplementation::declines(const Problem& problem) const {
  const Bindings& bindings = context_.bindings();
  const OperationBinding* binding = bindings.find(problem.operation(), problem.variant_name());
  if (binding == nullptr || binding->candidates.empty()) {
    if (binding != nullptr) {
      for (const Verdict& verdict : binding->verdicts) {
        if (verdict.implementation == implementation_.info.name)
          return Declined{reason_of(verdict.gate), verdict.reason};
      }
    }
    return Declined{Reason::kNotImplemented,
                    binding == nullptr ? "the operation is absent" : binding->absent};
  }
  std::vector<Verdict> verdicts;
  if (select(*binding, bindings, problem, context_.catalog(), &verdicts) != nullptr)
    return std::nullopt;
  for (const Verdict& verdict : verdicts) {
    if (verdict.implementation == implementation_.info.name)
      return Declined{reason_of(verdict.gate), verdict.reason};
  }
  return Declined{Reason::kDomainExcluded, "no candidate accepts the problem"};
}

WorkspaceSize BoundImplementation::prepare(const Problem& problem) {
  Binding& binding = context_.binding(problem.operation(), problem.variant_name());
  const Recipe recipe = binding.decide(problem, context_.device(), pins_);
  if (recipe.implementation != &implementation_) {
    fail(Code::kInternal, "asked for {}, but {} was prepared", implementation_.info.name,
         recipe.implementation->info.name);
  }
  plan_ = &binding.build(recipe, context_.device());
  specialization_ = recipe.specialization.text;
  pinned_ = nullptr;
  if (!pins_.empty()) {
    // A slot would choose the Cfg itself.
    pinned_ = std::make_unique<PreparedCall>();
    pinned_->plan = plan_;
    pinned_->workspace = recipe.workspace;
    pinned_->layout = recipe.layout;
    pinned_->launch = implementation_.functions.launch;
    pinned_->raw_plan = plan_->get();
  }
  workspace_size_ = recipe.workspace;
  auto& slot = slots_[static_cast<std::size_t>(problem.variant)];
  if (slot == nullptr) {
    slot = std::make_unique<OpSlot>(
        contract_.operation, contract_.variants[static_cast<std::size_t>(problem.variant)].name);
    SlotSet set{slot.get()};
    context_.bind(set);
  }
  slot_ = slot.get();
  binding_ = &binding;
  reserve(nullptr);
  if (graph_device_ != nullptr) reserve(graph_stream_.handle());
  return recipe.workspace;
}

void BoundImplementation::reserve(void* stream) {
  if (workspace_size_.bytes == 0) return;
  device_.reserve_workspace(stream, workspace_size_.bytes, workspace_size_.zeroed_bytes);
}

bool BoundImplementation::survives_fork() const noexcept {
  return implementation_.info.origin == ImplementationInfo{}.origin;
}

std::unique_ptr<Callable> BoundImplementation::bind_again(runtime::Device& device) const {
  return std::make_unique<BoundImplementation>(catalog_, device, implementation_, contract_, pins_,
                                               mode_, overrides_);
}

Status BoundImplementation::call(const Arguments& arguments) noexcept {
  if (graph_device_ == nullptr) return call_on(arguments, nullptr);
  try {
    graph_ = nullptr;
    runtime::Capture capture(*graph_device_, graph_stream_.handle());
    if (const Status status = call_on(arguments, graph_stream_.handle()); !status) return status;
    graph_ = capture.finish();
    if (graph_->nodes().total() > 0) return replay();
    graph_ = nullptr;
    return {};
  } catch (const std::exception& error) {
    return failed(StatusCode::kDevice, error.what());
  }
}

Status BoundImplementation::replay() noexcept {
  try {
    graph_device_->synchronize(nullptr);  // uploads; the graph's stream does not wait for them
    graph_->launch(graph_stream_.handle());
    graph_stream_.synchronize();
    return {};
  } catch (const std::exception& error) {
    return failed(StatusCode::kDevice, error.what());
  }
}

Status BoundImplementation::call_on(const Arguments& arguments, void* stream) noexcept {
  const Stream where{nullptr, stream, workspace_};
  if (pinned_ == nullptr) return slot_->call(contract_, arguments.data(), where);
  return binding_->launch(*pinned_, arguments.data(), device_, where);
}

}  // namespace kw::suite
