// SPDX-License-Identifier: Apache-2.0
// What the user asked for, per operation, with the origin of every value. Precedence:
// environment > explicit argument > file > default. Two stages: names are checked when a value
// arrives, without a device; what a name means on a device is decided by on_device().
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernelwright/core/catalog.hpp"

namespace kw {

// Ascending precedence.
enum class Source : std::uint8_t { kDefault = 0, kFile = 1, kExplicit = 2, kEnvironment = 3 };
inline constexpr int kNumSources = 4;
std::string_view source_name(Source source) noexcept;

// One value for one operation. `targets`: {"auto"}, {"eager"}, {"native"},
// {"cpu.native.<operation>"} or an ordered list of solutions and exact names; the field's prefix is
// already stripped.
struct Choice {
  std::vector<std::string> targets;
  Source source = Source::kDefault;
  // "x.yaml:3: model.ops_implementation.<field>", "KW_OVERRIDE_<OPERATION>", "default"
  std::string origin;

  bool is_auto() const noexcept { return targets.size() == 1 && targets[0] == "auto"; }
  bool is_eager() const noexcept { return targets.size() == 1 && targets[0] == "eager"; }
  std::string text() const;  // "auto", "native", "[native, reference]"
};

// A choice written in one word, as in the environment: "native", "a, b", "[a, b]". Not validated.
std::vector<std::string> parse_targets(std::string_view text);

// The choices of every source; the one in effect is the highest source that has one. Every function
// that changes the settings either succeeds or throws and changes nothing.
class Settings {
 public:
  // `what` is an operation, or "operation/variant" for one variant only. A file value for an
  // operation does not reach variants that have a field of their own; every other source does.
  // Throws Error(kNotFound | kInvalidArgument) that starts with `origin`.
  void set(const Catalog& catalog, std::string_view what, std::vector<std::string> targets,
           Source source, std::string origin);
  // YAML text with `model.ops_implementation.<field>: value | [values]`, and perhaps
  // `model.require_evidence`; `name` is used in origins.
  void load_yaml(const Catalog& catalog, std::string_view yaml, std::string_view name);
  void load_file(const Catalog& catalog, const std::string& path);
  // Values of KW_OVERRIDE_<OPERATION> as read by core/environment.hpp: "native" or "[a, b]". Keys
  // are whole variable names or only <OPERATION>.
  void apply_environment(const Catalog& catalog,
                         const std::map<std::string, std::string>& overrides);

  // These settings as they hold on a device of `kind`; resolve() applies it first. Of the choices
  // in effect: known values are normalised (see KnownValue), entries of a list that nothing
  // registered serves are dropped with a warning, and a choice with nothing left is
  // Error(kUnsupported) that says which plugin or device it needs.
  Settings on_device(const Catalog& catalog, DeviceKind kind) const;

  // Per source, the choice for the operation, or for one variant of it; lowest precedence first,
  // the default always among them. The last one is in effect.
  std::vector<Choice> history(std::string_view operation, std::string_view variant = {}) const;
  Choice effective(std::string_view operation, std::string_view variant = {}) const;
  // Fields given in files, to report those no slot asks for: canonical name, and the operation or
  // "operation/variant" that it speaks for (which this build may lack: then the value is auto or
  // eager).
  const std::vector<std::pair<std::string, std::string>>& file_fields() const noexcept {
    return file_fields_;
  }
  // One line per deprecated, normalised or dropped value.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

  bool prepare_on_miss = true;
  Mode mode = Mode::kEager;
  // Nothing is prepared that is not known to have passed numerics (core/evidence.hpp); and who says
  // so, "run.yaml:2: model.require_evidence".
  bool require_evidence = false;
  std::string require_evidence_origin = "default";

  // Same choices in effect and same options; origins do not count.
  bool same_effect(const Settings& other) const;
  // "mode=eager prepare_on_miss=true x=native (KW_OVERRIDE_X)"; defaults are omitted.
  std::string text() const;

 private:
  using Choices = std::array<Choice, kNumSources>;  // [Source]; no targets: not given

  void store(const Contract& contract, std::string_view variant, const Choice& choice);
  void warn(std::string line);

  // By "operation", and by "operation/variant" for every variant: store() writes all that it
  // covers.
  std::map<std::string, Choices, std::less<>> choices_;
  std::vector<std::pair<std::string, std::string>> file_fields_;
  std::vector<std::string> warnings_;
};

}  // namespace kw
