// SPDX-License-Identifier: Apache-2.0
// Every kernel of the self-test compiles with the real NVRTC, right and sabotaged; no GPU needed.
#include <set>

#include <gtest/gtest.h>

#include "kernelwright/backend/cuda/toolchain_nvrtc.hpp"
#include "kernelwright/core/catalog.hpp"
#include "kernelwright/core/problem.hpp"
#include "kernelwright/suite/selftest/probe.hpp"

namespace kw::suite {
namespace {

kit::ProbeCfg cfg_of(const Saboteur& saboteur, Catalog& catalog) {
  const Problem problem = parse_problem(saboteur.problem, catalog);
  kit::ProbeCfg cfg;
  while (problem.operation() != kit::kProbeOperationNames[static_cast<std::size_t>(cfg.operation)])
    cfg.operation = static_cast<kit::ProbeOperation>(static_cast<int>(cfg.operation) + 1);
  cfg.type = fill_type(problem.dtype("T"));
  cfg.two = problem.variant_name() == "two";
  return cfg;
}

TEST(ProbeUnits, CompileWithoutSpills) {
  jit::NvrtcToolchain toolchain{jit::NvrtcOptions{}};
  if (toolchain.library().empty()) GTEST_SKIP() << "no libnvrtc on this machine";
  jit::Session session{jit::SessionOptions{}};
  Catalog catalog;
  add_probes(catalog);
  std::set<std::string> entries;
  for (const Saboteur& saboteur : saboteurs()) {
    kit::ProbeCfg cfg = cfg_of(saboteur, catalog);
    for (const Sabotage sabotage : {Sabotage::kNone, saboteur.sabotage}) {
      if (!kit::is_in_kernel(sabotage)) continue;
      cfg.sabotage = sabotage;
      const jit::Unit unit = probe_unit(cfg, "sm_90a");
      if (!entries.insert(unit.entry).second) continue;
      const auto compiled = session.compile(toolchain, unit);
      EXPECT_GT(compiled->entry.image.size(), 500U) << unit.entry;
      EXPECT_EQ(compiled->entry.record.facts.spill_store_bytes, 0) << unit.entry;
    }
  }
  EXPECT_GE(entries.size(), 55U);
}

}  // namespace
}  // namespace kw::suite
