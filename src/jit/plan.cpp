// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/plan.hpp"

#include <fmt/format.h>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"

namespace kw::jit {
namespace {

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

std::string dim_text(const runtime::Dim3& dim) {
  return fmt::format("{}x{}x{}", dim.x, dim.y, dim.z);
}

std::string fact_text(int value) { return value < 0 ? "unknown" : std::to_string(value); }

}  // namespace

Plan::Plan(Unit unit, std::shared_ptr<const CompiledUnit> compiled, Origin origin,
           runtime::Device& device)
    : unit_(std::move(unit)), compiled_(std::move(compiled)), origin_(origin) {
  const auto start = std::chrono::steady_clock::now();
  module_ = device.load_module(compiled_->entry.image);
  function_ = &module_->function(unit_.entry, unit_.shape.shared_bytes);
  load_ms_ = ms_since(start);
}

PlanFacts Plan::info() const {
  const EntryRecord& record = compiled_->entry.record;
  PlanFacts facts{
      {"kernel", unit_.kernel},
      {"entry", unit_.entry},
      {"cfg", unit_.cfg},
      {"arch", unit_.arch},
      {"block", dim_text(unit_.shape.block)},
      {"cluster", dim_text(unit_.shape.cluster)},
      {"shared_bytes", std::to_string(unit_.shape.shared_bytes)},
      {"source_digest", hex(compiled_->source_digest)},
      {"key", hex(record.key)},
      {"toolchain", record.toolchain},
      {"flags", join(record.flags, " ")},
      {"registers", fact_text(record.facts.registers)},
      {"spill_store_bytes", fact_text(record.facts.spill_store_bytes)},
      {"spill_load_bytes", fact_text(record.facts.spill_load_bytes)},
      {"stack_bytes", fact_text(record.facts.stack_bytes)},
      {"static_shared_bytes", fact_text(record.facts.static_shared_bytes)},
      {"image_bytes", std::to_string(compiled_->entry.image.size())},
      {"origin", kOriginNames[static_cast<int>(origin_)]},
      {"compile_ms", fmt::format("{:.3f}", record.compile_ms)},
      {"find_ms", fmt::format("{:.3f}", compiled_->ms)},
      {"load_ms", fmt::format("{:.3f}", load_ms_)},
  };
  for (const auto& field : unit_.fields) facts.emplace_back("cfg." + field.first, field.second);
  return facts;
}

}  // namespace kw::jit
