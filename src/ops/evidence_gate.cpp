// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/ops/evidence_gate.hpp"

#include <optional>

#include <fmt/format.h>

#include "kernelwright/backend/cuda/cuda_device.hpp"
#include "kernelwright/base/error.hpp"
#include "kernelwright/core/environment.hpp"
#include "kernelwright/suite/code_identity.hpp"
#include "kernelwright/suite/operand.hpp"

namespace kw {
namespace {

// Sizes for what is free, tried in this order: small ones are judged fast, the last fall into the
// last bucket, which is what a plan of free dimensions is made for.
constexpr std::int64_t kSizes[] = {16, 1, 128, 1024, 4096, 16384, 65536};

// A problem without free dimensions that comes to the same specialization.
std::optional<Problem> concrete(const EvidenceQuery& query) {
  if (!query.problem.has_free_dims()) return query.problem;
  const Implementation& implementation = query.implementation;
  const ImplementationFunctions& functions = implementation.functions;
  for (const std::int64_t size : kSizes) {
    try {
      Problem problem = suite::with_free_dims(query.problem, size);
      if (functions.supports(implementation.self, problem, query.hardware)) continue;
      const Specialization chosen =
          functions.choose(implementation.self, problem, query.hardware, query.pins);
      if (chosen.text == query.specialization.text) return problem;
    } catch (const Error&) {
      continue;  // such a size is illegal beside the others
    }
  }
  return std::nullopt;
}

// What makes evidence for such a plan.
std::string remedy(const EvidenceQuery& query) {
  const suite::Circumstances how{.implementation = query.implementation.info.name,
                                 .device = suite::device_flag(query.hardware),
                                 .mode = query.mode,
                                 .pins = query.pins};
  const std::optional<Problem> problem = concrete(query);
  const std::string line = suite::repro_line({problem.value_or(query.problem)}, how);
  return fmt::format("If it is right, `{}`{} makes some", line,
                     problem ? "" : " with a number for each ?");
}

class StoreGate final : public EvidenceGate {
 public:
  EvidenceAnswer look_up(const EvidenceQuery& query) const override {
    const std::string& name = query.implementation.info.name;
    const std::string code = suite::code_identity(query.implementation, query.facts);
    if (code.empty()) {
      return {false,
              fmt::format("nothing tells which code {} runs, so there can be no evidence for it. "
                          "Name another implementation, or do without require_evidence",
                          name)};
    }
    const suite::EvidenceStore store = evidence_store();
    const suite::EvidenceIdentity identity{name, code, query.hardware.model,
                                           evidence_driver(query.hardware.kind)};
    const std::optional<suite::Evidence> found = store.find(identity);
    if (found && found->covers(query.specialization.text)) return {true, found->summary()};
    const std::string why = found ? "what is stored is of problems that run " +
                                        found->specializations() + ", not " +
                                        query.specialization.text
                                  : store.why_missing(identity);
    return {false, why + ". " + remedy(query)};
  }
};

}  // namespace

suite::EvidenceStore evidence_store() {
  const Environment& settings = environment();
  return suite::EvidenceStore(settings.cache_dir.empty() ? "" : settings.cache_dir + "/evidence",
                              settings.cache_readonly);
}

std::string evidence_driver(DeviceKind kind) {
  if (kind != DeviceKind::kCuda) return {};
  const int version = runtime::cuda_driver_version();
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::shared_ptr<const EvidenceGate> make_evidence_gate() { return std::make_shared<StoreGate>(); }

}  // namespace kw
