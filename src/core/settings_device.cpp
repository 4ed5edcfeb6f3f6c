// SPDX-License-Identifier: Apache-2.0
// The second stage of the settings: what names that exist mean on one kind of device.
#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/core/settings.hpp"
#include "kernelwright/core/settings_names.hpp"

namespace kw {
namespace {

// Decides what a choice means on one kind of device.
class DeviceView {
 public:
  DeviceView(const Catalog& catalog, const Contract& contract, std::string_view variant,
             DeviceKind kind)
      : catalog_(catalog),
        operation_(catalog.operation(contract.operation)),
        contract_(contract),
        kind_(kind) {
    // The variant's own field first; values of the others arrive by overrides of the operation.
    if (const std::string* field = own_field(contract, variant)) fields_.push_back(*field);
    for (const std::string& field : fields_of(contract)) fields_.push_back(field);
  }

  void apply(Choice& choice) {
    if (choice.targets.size() == 1) normalise(choice);
    std::vector<std::string> served, missing;
    for (const std::string& target : choice.targets) {
      if (is_reserved(target) || registered(target)) {
        served.push_back(target);
      } else {
        missing.push_back(why_missing(target));
      }
    }
    if (missing.empty()) return;
    if (served.empty()) {
      fail(Code::kUnsupported, "{}: {}: {}; this build has on {}: {}", choice.origin,
           contract_.operation, join(missing, "; "), device_kind_name(kind_), join(usable()));
    }
    for (const std::string& reason : missing) {
      warnings.push_back(fmt::format("{}: {}: {}; the rest of the list is used", choice.origin,
                                     contract_.operation, reason));
    }
    choice.targets = std::move(served);
  }

  std::vector<std::string> warnings;

 private:
  bool registered(std::string_view target) const {
    return std::any_of(operation_.implementations.begin(), operation_.implementations.end(),
                       [&](const Implementation& entry) { return is_named(entry, target); });
  }

  bool registered_here(std::string_view target) const {
    return std::any_of(operation_.implementations.begin(), operation_.implementations.end(),
                       [&](const Implementation& entry) {
                         return entry.info.device == kind_ && is_named(entry, target);
                       });
  }

  const KnownValue* known(std::string_view target) const {
    for (const std::string& field : fields_) {
      if (const KnownValue* value = find_known_value(catalog_, contract_, field, target))
        return value;
    }
    return nullptr;
  }

  void normalise(Choice& choice) {
    const std::string& target = choice.targets[0];
    if (is_reserved(target) || registered_here(target)) return;
    const KnownValue* value = known(target);
    if (value == nullptr || !(value->deprecated || choice.source == Source::kFile)) return;
    const auto here = value->normalises_to.find(kind_);
    if (here == value->normalises_to.end()) return;
    const std::string& meaning = here->second.empty() ? std::string("auto") : here->second;
    std::string line = fmt::format(
        "{}: value '{}' {} '{}' on {}", choice.origin, value->value,
        value->deprecated ? "is deprecated and means" : "is a default of other devices and means",
        meaning, device_kind_name(kind_));
    std::string next = without_prefix(contract_, meaning);
    if (!is_reserved(next) && !registered_here(next) && !value->deprecated) {
      // A default never fails for want of a third party.
      line += fmt::format("; {}: auto", why_missing(next));
      next = "auto";
    }
    choice.origin =
        fmt::format("{} ('{}' on {})", choice.origin, value->value, device_kind_name(kind_));
    choice.targets = {std::move(next)};
    warnings.push_back(std::move(line));
  }

  std::string why_missing(std::string_view target) const {
    if (const Exclusion* exclusion = find_exclusion(catalog_, contract_.operation, target)) {
      return fmt::format("'{}' is excluded: {}", exclusion->implementation, exclusion->reason);
    }
    const KnownValue* value = known(target);
    if (value == nullptr) return fmt::format("nothing is registered as '{}'", target);
    const auto& devices = value->devices;
    if (!devices.empty() && std::find(devices.begin(), devices.end(), kind_) == devices.end()) {
      std::vector<std::string> kinds;
      for (const DeviceKind kind : devices) kinds.emplace_back(device_kind_name(kind));
      return fmt::format("'{}' is not on this device ({}): it runs on {} and {}", value->value,
                         device_kind_name(kind_), join(kinds), value->remedy);
    }
    return fmt::format("'{}' {}, which is not loaded", value->value, value->remedy);
  }

  std::vector<std::string> usable() const {
    std::vector<std::string> usable{"auto", "eager"};
    for (const Implementation& entry : operation_.implementations) {
      if (entry.info.device == kind_) usable.push_back(entry.info.solution);
    }
    return usable;
  }

  const Catalog& catalog_;
  const Operation& operation_;
  const Contract& contract_;
  DeviceKind kind_;
  std::vector<std::string> fields_;
};

}  // namespace

Settings Settings::on_device(const Catalog& catalog, DeviceKind kind) const {
  Settings next = *this;
  for (auto& [key, choices] : next.choices_) {
    const std::size_t slash = key.find('/');
    const Contract* contract = catalog.operation(key.substr(0, slash)).contract;
    const std::string variant = slash == std::string::npos ? "" : key.substr(slash + 1);
    DeviceView view(catalog, *contract, variant, kind);
    std::size_t in_effect = kNumSources - 1;
    while (in_effect > 0 && choices[in_effect].targets.empty()) --in_effect;
    if (!choices[in_effect].targets.empty()) view.apply(choices[in_effect]);
    for (std::string& line : view.warnings) next.warn(std::move(line));
  }
  return next;
}

}  // namespace kw
