// SPDX-License-Identifier: Apache-2.0
// One way to compute an operation: what it says of itself, and the seven functions through which
// core reaches it. A C table for outsiders is a wrapper around these; in-tree code uses
// make_implementation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernelwright/core/hardware.hpp"
#include "kernelwright/core/problem.hpp"
#include "kernelwright/core/status.hpp"

namespace kw {

// "Not my domain", as a value: the reason a candidate does not serve a problem.
struct Rejection {
  enum class Code : std::uint8_t {
    kVariant,
    kDType,
    kShape,
    kLayout,
    kAlignment,
    kRange,
    kDevice,
    kCapability,
    kMode,
    kPart,
    kOther,
  };
  Code code = Code::kOther;
  std::string text;
};
std::string_view rejection_name(Rejection::Code code) noexcept;

// Scratch of one call. Pure function of the problem, monotone in dynamic dimensions; a launch
// leaves the first `zeroed_bytes`, a multiple of kWorkspaceAlignment, zero again. A composed
// implementation counts its own only, and none of that zeroed; core adds what the parts need.
inline constexpr std::int64_t kWorkspaceAlignment = 64;
struct WorkspaceSize {
  std::int64_t bytes = 0;
  std::int64_t zeroed_bytes = 0;
};

// Cfg fields pinned from outside (`--cfg field=value`); an unknown field or value is an error.
using CfgPins = std::map<std::string, std::string>;

// The Cfg that `choose` returns: an opaque value, and the text that identifies it.
struct Specialization {
  std::string text;  // "{.isa = avx512}"
  std::shared_ptr<const void> cfg;
  std::string
      origin{};  // whence the geometry: "formula", "table ...", "pins ..."; "": only one way
};

// A Cfg and whence its geometry, for a `choose` that has several sources.
template <typename Cfg>
struct ChosenCfg {
  Cfg cfg;
  std::string origin{};
};

// Where the scratch of a composed call lies: bytes from the start of one block to that of the
// implementation and, in order, of its parts, which run one after another and share theirs.
struct WorkspaceLayout {
  std::int64_t offset = 0;
  std::vector<WorkspaceLayout> parts;
};

// What a launch gets besides its arguments. A composed implementation passes it to its parts as it
// is; each finds its own workspace.
struct LaunchFrame {
  void* stream = nullptr;
  void* workspace = nullptr;
  std::byte* block = nullptr;
  const WorkspaceLayout* layout = nullptr;  // null: no part needs scratch
};

// Facts of a plan, for explain and reports: name -> value.
using PlanFacts = std::vector<std::pair<std::string, std::string>>;

// A plan of another operation that a composed implementation calls.
class PreparedPart {
 public:
  virtual ~PreparedPart() = default;
  virtual const Contract& contract() const noexcept = 0;
  virtual const std::string& implementation() const noexcept = 0;
  // `frame` as the composed implementation got it.
  virtual Status launch(const void* args, const LaunchFrame& frame) const noexcept = 0;
};

struct PrepareRequest {
  const Problem& problem;  // may have free dynamic dimensions
  const Specialization& specialization;
  DevicePort& device;
  // Prepared parts of a composed implementation, in the order of `parts`.
  std::vector<std::unique_ptr<PreparedPart>>& parts;
};

// The seven. `self` is the implementation's own state (null for most).
struct ImplementationFunctions {
  std::optional<Rejection> (*supports)(void* self, const Problem&, const Hardware&) = nullptr;
  WorkspaceSize (*workspace)(void* self, const Problem&) = nullptr;
  Specialization (*choose)(void* self, const Problem&, const Hardware&, const CfgPins&) = nullptr;
  void* (*prepare)(void* self, PrepareRequest&) = nullptr;  // the plan; throws Error
  Status (*launch)(const void* plan, const void* args, const LaunchFrame&) noexcept = nullptr;
  void (*destroy)(void* plan) noexcept = nullptr;
  PlanFacts (*describe)(const void* plan) = nullptr;
};

struct ImplementationInfo {
  std::string name;         // "<device>.<solution>.<operation>"
  std::string description;  // one line
  std::string solution;     // "native"
  DeviceKind device = DeviceKind::kCpu;
  int min_capability = 0;
  int max_capability = std::numeric_limits<int>::max();
  bool eager_mode = true, graph_mode = true;
  bool deterministic = true, batch_invariant = false, differentiable = false;
  std::vector<std::string> variants;  // empty: every variant of the contract
  bool explicit_only = false;         // an oracle: never chosen by `auto`
  // Composed implementations: the problems of other operations that serve one problem of this.
  std::vector<Problem> (*parts)(const Problem&, const ContractSource&) = nullptr;
  // Third parties, after the in-tree list: higher priority first, then name.
  int priority = 0;
  std::string origin = "kernelwright";  // who registered it
};

struct Implementation {
  ImplementationInfo info;
  ImplementationFunctions functions;
  void* self = nullptr;
};

// Wraps a type with static members into the seven functions. Kernel must have
//   using Args, Cfg (a structural value with `std::string cfg_text(const Cfg&)` found by ADL),
//   Plan; static std::optional<Rejection> supports(const Problem&, const Hardware&); static
//   WorkspaceSize workspace(const Problem&); static Cfg (or ChosenCfg<Cfg>) choose(const Problem&,
//   const Hardware&, const CfgPins&); static std::unique_ptr<Plan> prepare(const Cfg&,
//   PrepareRequest&); static Status launch(const Plan&, const Args&, const LaunchFrame&) noexcept;
//   static PlanFacts describe(const Plan&);
template <typename Kernel>
Implementation make_implementation(ImplementationInfo info) {
  using Cfg = typename Kernel::Cfg;
  using Plan = typename Kernel::Plan;
  ImplementationFunctions f;
  f.supports = [](void*, const Problem& p, const Hardware& h) { return Kernel::supports(p, h); };
  f.workspace = [](void*, const Problem& p) { return Kernel::workspace(p); };
  f.choose = [](void*, const Problem& p, const Hardware& h, const CfgPins& pins) {
    ChosenCfg<Cfg> chosen{Kernel::choose(p, h, pins)};
    auto cfg = std::make_shared<const Cfg>(std::move(chosen.cfg));
    return Specialization{cfg_text(*cfg), cfg, std::move(chosen.origin)};
  };
  f.prepare = [](void*, PrepareRequest& request) -> void* {
    return Kernel::prepare(*static_cast<const Cfg*>(request.specialization.cfg.get()), request)
        .release();
  };
  f.launch = [](const void* plan, const void* args, const LaunchFrame& frame) noexcept {
    return Kernel::launch(*static_cast<const Plan*>(plan),
                          *static_cast<const typename Kernel::Args*>(args), frame);
  };
  f.destroy = [](void* plan) noexcept { delete static_cast<Plan*>(plan); };
  f.describe = [](const void* plan) { return Kernel::describe(*static_cast<const Plan*>(plan)); };
  return Implementation{std::move(info), f, nullptr};
}

}  // namespace kw
