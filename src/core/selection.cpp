// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/selection.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/log.hpp"
#include "kernelwright/base/text.hpp"

namespace kw {
namespace {

// Why `info` cannot run on `hardware` in `mode`, with the gate that says so; kSelected: it can.
Verdict device_verdict(const ImplementationInfo& info, int rank, const Hardware& hardware,
                       Mode mode, const std::string& variant) {
  Verdict verdict{info.name, rank, Gate::kSelected, {}};
  if (info.device != hardware.kind) {
    verdict.rank = 0;
    verdict.gate = Gate::kDevice;
    verdict.reason = "needs a " + std::string(device_kind_name(info.device)) +
                     " device; this one is " + std::string(device_kind_name(hardware.kind));
  } else if (hardware.capability < info.min_capability) {
    verdict.gate = Gate::kCapability;
    verdict.reason = "needs capability " + capability_text(info.device, info.min_capability) +
                     " or newer; this device has " +
                     capability_text(info.device, hardware.capability);
  } else if (hardware.capability > info.max_capability) {
    verdict.gate = Gate::kCapability;
    verdict.reason = "supports devices up to capability " +
                     capability_text(info.device, info.max_capability) + "; this device has " +
                     capability_text(info.device, hardware.capability);
  } else if (mode == Mode::kEager ? !info.eager_mode : !info.graph_mode) {
    verdict.gate = Gate::kMode;
    verdict.reason = "does not run in " + std::string(mode_name(mode)) + " mode";
  } else if (!info.variants.empty() && std::find(info.variants.begin(), info.variants.end(),
                                                 variant) == info.variants.end()) {
    verdict.gate = Gate::kVariant;
    verdict.reason = "serves variant " + join(info.variants) + ", not " + variant;
  }
  return verdict;
}

// Exact names win over solutions. A solution may name several entries; all are taken, in rank
// order.
bool matches(const std::string& target, const ImplementationInfo& info, bool exact) {
  return exact ? info.name == target : info.solution == target;
}

class Resolver {
 public:
  Resolver(const Operation& operation, int variant, const Settings& settings,
           const Hardware& hardware, const Catalog& catalog)
      : operation_(operation), hardware_(hardware), catalog_(catalog), mode_(settings.mode) {
    binding_.operation = &operation;
    binding_.variant = variant;
    binding_.history = settings.history(operation.contract->operation, binding_.variant_name());
    binding_.choice = binding_.history.back();
  }

  OperationBinding run() {
    std::vector<Verdict> verdicts;
    int rank = 0;
    for (const Implementation& implementation : operation_.implementations) {
      const bool here = implementation.info.device == hardware_.kind;
      verdicts.push_back(device_verdict(implementation.info, here ? ++rank : 0, hardware_, mode_,
                                        binding_.variant_name()));
    }
    for (const Exclusion& exclusion : catalog_.exclusions()) {
      if (exclusion.operation == operation_.contract->operation)
        binding_.verdicts.push_back(
            {exclusion.implementation, 0, Gate::kDependency, exclusion.reason});
    }
    binding_.strict = !binding_.choice.is_auto();
    if (binding_.choice.is_eager()) {
      refuse_all(verdicts, "the choice is eager: the model's own code runs");
    } else if (binding_.choice.is_auto()) {
      take_auto(verdicts);
    } else {
      take_named(verdicts);
    }
    if (binding_.candidates.empty()) binding_.absent = absence();
    return std::move(binding_);
  }

 private:
  void refuse_all(std::vector<Verdict>& verdicts, const std::string& reason) {
    for (Verdict& verdict : verdicts) {
      if (verdict.gate == Gate::kSelected) {
        verdict.gate = Gate::kChoice;
        verdict.reason = reason;
      }
      binding_.verdicts.push_back(std::move(verdict));
    }
  }

  void take_auto(std::vector<Verdict>& verdicts) {
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      const Implementation& implementation = operation_.implementations[i];
      if (verdicts[i].gate == Gate::kSelected && implementation.info.explicit_only) {
        verdicts[i].gate = Gate::kChoice;
        verdicts[i].reason = "an oracle: bound only when named";
      }
      if (verdicts[i].gate == Gate::kSelected)
        binding_.candidates.push_back(&implementation);
      else
        binding_.verdicts.push_back(std::move(verdicts[i]));
    }
  }

  void take_named(std::vector<Verdict>& verdicts) {
    std::string refusals;
    bool only_the_variant_lacks = false;
    for (const std::string& target : binding_.choice.targets) {
      const bool exact =
          std::any_of(operation_.implementations.begin(), operation_.implementations.end(),
                      [&](const Implementation& i) { return i.info.name == target; });
      bool found = false;
      for (std::size_t i = 0; i < verdicts.size(); ++i) {
        const Implementation& implementation = operation_.implementations[i];
        if (!matches(target, implementation.info, exact)) continue;
        found = true;
        if (verdicts[i].gate != Gate::kSelected) {
          only_the_variant_lacks |= verdicts[i].gate == Gate::kVariant;
          refusals += "\n  " + verdicts[i].implementation + ": " + verdicts[i].reason;
        } else if (std::find(binding_.candidates.begin(), binding_.candidates.end(),
                             &implementation) == binding_.candidates.end()) {
          binding_.candidates.push_back(&implementation);
        }
      }
      for (const Exclusion& exclusion : catalog_.exclusions()) {
        if (exclusion.operation == operation_.contract->operation &&
            exclusion.implementation == target)
          refusals += "\n  " + target + ": " + exclusion.reason;
      }
      if (!found && refusals.empty()) refusals += "\n  " + target + ": no such implementation";
    }
    if (binding_.candidates.empty() && !only_the_variant_lacks) {
      std::vector<std::string> able;
      for (std::size_t i = 0; i < verdicts.size(); ++i) {
        if (verdicts[i].gate == Gate::kSelected) able.push_back(verdicts[i].implementation);
      }
      fail(Code::kUnsupported,
           "{}: '{}' was asked for ({}) but cannot run on {} device {} ({}):{}\nAvailable here: {}",
           binding_.label(), binding_.choice.text(), binding_.choice.origin,
           device_kind_name(hardware_.kind), hardware_.index, hardware_.model, refusals,
           able.empty() ? "eager only" : join(able) + ", eager");
    }
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      const Implementation* implementation = &operation_.implementations[i];
      if (std::find(binding_.candidates.begin(), binding_.candidates.end(), implementation) !=
          binding_.candidates.end())
        continue;
      if (verdicts[i].gate == Gate::kSelected) {
        verdicts[i].gate = Gate::kChoice;
        verdicts[i].reason =
            "the choice is " + binding_.choice.text() + " (" + binding_.choice.origin + ")";
      }
      binding_.verdicts.push_back(std::move(verdicts[i]));
    }
  }

  std::string absence() const {
    if (binding_.choice.is_eager()) return "eager by choice (" + binding_.choice.origin + ")";
    if (binding_.verdicts.empty()) return "no implementation is registered";
    std::vector<std::string> reasons;
    for (const Verdict& verdict : binding_.verdicts)
      reasons.push_back(verdict.implementation + ": " + verdict.reason);
    return "no candidate on this device (" + join(reasons, "; ") + ")";
  }

  const Operation& operation_;
  const Hardware& hardware_;
  const Catalog& catalog_;
  Mode mode_;
  OperationBinding binding_;
};

std::optional<Rejection> rejects(const Implementation& implementation, const Bindings& all,
                                 const Problem& problem, const ContractSource& contracts,
                                 const PartPath* path) {
  for (const PartPath* step = path; step != nullptr; step = step->above) {
    if (step->implementation == &implementation)
      return Rejection{Rejection::Code::kPart, "it would be a part of itself"};
  }
  if (auto rejection =
          implementation.functions.supports(implementation.self, problem, all.hardware))
    return rejection;
  if (implementation.info.parts == nullptr) return std::nullopt;
  // The domain of a composed implementation is its own and that of every operation it uses.
  const PartPath here{&implementation, path};
  for (const Problem& part : implementation.info.parts(problem, contracts)) {
    const OperationBinding* binding = all.find(part.operation(), part.variant_name());
    std::vector<Verdict> verdicts;
    if (binding != nullptr && select(*binding, all, part, contracts, &verdicts, &here) != nullptr)
      continue;
    std::string text = "no implementation of its part '" + problem_text(part) + "'";
    if (binding != nullptr && !binding->absent.empty()) text += ": " + binding->absent;
    for (const Verdict& verdict : verdicts)
      text += "; " + verdict.implementation + ": " + verdict.reason;
    return Rejection{Rejection::Code::kPart, text};
  }
  return std::nullopt;
}

}  // namespace

std::string_view gate_name(Gate gate) noexcept {
  constexpr std::string_view kNames[] = {"dependency", "device",  "capability",
                                         "mode",       "variant", "choice",
                                         "problem",    "rank",    "selected"};
  return kNames[static_cast<int>(gate)];
}

std::string_view rejection_name(Rejection::Code code) noexcept {
  constexpr std::string_view kNames[] = {"variant",   "dtype", "shape",  "layout",
                                         "alignment", "range", "device", "capability",
                                         "mode",      "part",  "other"};
  return kNames[static_cast<int>(code)];
}

const OperationBinding* Bindings::find(std::string_view operation,
                                       std::string_view variant) const noexcept {
  for (const OperationBinding& binding : operations) {
    if (binding.operation->contract->operation == operation && binding.variant_name() == variant)
      return &binding;
  }
  return nullptr;
}

Bindings resolve(Catalog& catalog, const Settings& settings, const Hardware& hardware) {
  const Settings here = settings.on_device(catalog, hardware.kind);
  for (const std::string& warning : here.warnings()) log(LogLevel::kWarning, "settings", warning);
  catalog.freeze();
  Bindings bindings{hardware, here.mode, {}};
  for (const Operation& operation : catalog.operations()) {
    for (int variant = 0; variant < static_cast<int>(operation.contract->variants.size());
         ++variant) {
      bindings.operations.push_back(Resolver(operation, variant, here, hardware, catalog).run());
    }
  }
  for (const std::string& warning : here.warnings()) log(LogLevel::kWarning, "settings", warning);
  for (const OperationBinding& binding : bindings.operations) {
    log(LogLevel::kInfo, "select",
        "kw,select," + binding.label() + "," +
            (binding.candidates.empty()
                 ? "absent," + binding.absent
                 : binding.candidates.front()->info.name + "," + binding.choice.text() + " from " +
                       std::string(source_name(binding.choice.source))));
  }
  return bindings;
}

const Implementation* select(const OperationBinding& binding, const Bindings& all,
                             const Problem& problem, const ContractSource& contracts,
                             std::vector<Verdict>* verdicts, const PartPath* path) {
  const Implementation* selected = nullptr;
  for (const Implementation* candidate : binding.candidates) {
    int rank = 0;
    for (const Implementation& entry : binding.operation->implementations) {
      if (entry.info.device == candidate->info.device) ++rank;
      if (&entry == candidate) break;
    }
    Verdict verdict{candidate->info.name, rank, Gate::kSelected, {}};
    if (const auto rejection = rejects(*candidate, all, problem, contracts, path)) {
      verdict.gate = Gate::kProblem;
      verdict.reason = std::string(rejection_name(rejection->code)) + ": " + rejection->text;
    } else if (selected != nullptr) {
      verdict.gate = Gate::kRank;
      verdict.reason = "accepts too, but " + selected->info.name + " comes first";
    } else {
      selected = candidate;
      verdict.reason = "first of the list that accepts";
    }
    if (verdicts != nullptr)
      verdicts->push_back(std::move(verdict));
    else if (selected != nullptr)
      break;
  }
  return selected;
}

}  // namespace kw
