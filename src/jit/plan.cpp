// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/plan.hpp"

#include <fmt/format.h>

#include "kernelwright/base/text.hpp"
#include "kernelwright/jit/errors.hpp"

namespace kw::jit {
namespace {

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

Plan::Plan(Unit unit, std::shared_ptr<const CompiledUnit> compiled, Origin origin,
           runtime::Device& device)
    : unit_(std::move(unit)), compiled_(std::move(compiled)), origin_(origin) {
  const auto start = std::chrono::steady_clock::now();
  try {
    module_ = device.load_module(compiled_->entry.image);
    function_ = &module_->function(unit_.entry, unit_.shape.shared_bytes);
  } catch (const Error& error) {
    throw LoadError(error.code(),
                    fmt::format("{} for {} ({}) cannot be loaded on {}: {}", unit_.entry,
                                unit_.arch, kOriginNames[static_cast<int>(origin_)],
                                device.hardware().model, error.what()));
  }
  load_ms_ = ms_since(start);
}

PlanFacts Plan::info() const {
  PlanFacts facts = facts_of(compiled_->entry.record, unit_.shape);
  facts.insert(facts.end(), {{"image_bytes", std::to_string(compiled_->entry.image.size())},
                             {"origin", kOriginNames[static_cast<int>(origin_)]},
                             {"find_ms", fmt::format("{:.3f}", compiled_->ms)},
                             {"load_ms", fmt::format("{:.3f}", load_ms_)}});
  if (!compiled_->passed_over.empty()) {
    facts.emplace_back("passed_over", join(compiled_->passed_over, "; "));
  }
  for (const auto& field : unit_.fields) facts.emplace_back("cfg." + field.first, field.second);
  return facts;
}

}  // namespace kw::jit
