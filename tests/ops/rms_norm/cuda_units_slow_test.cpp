// SPDX-License-Identifier: Apache-2.0
// Compiles the kernels of cuda.jit for every architecture with the real NVRTC: one unit of each
// dtype and path through the body among the problems of the batches. No GPU needed.
#include <gtest/gtest.h>

#include <cstdio>
#include <future>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "kernelwright/backend/cuda/toolchain_nvrtc.hpp"
#include "kernelwright/jit/plan.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/ops/rms_norm/contract.hpp"
#include "kernelwright/suite/suite.hpp"

namespace kw::ops::rms_norm {
namespace {

constexpr int kMostUnits = 400;

// What decides the code of a unit besides numbers: dtypes and the branches that a Cfg takes.
std::string path_of(const jit::Unit& unit) {
  std::string path = unit.kernel + ' ' + unit.arch;
  for (const auto& [name, value] : unit.fields) {
    static const std::set<std::string> numbers{"variant",  "hidden",       "want_rstd",
                                               "partials", "min_blocks",   "rows_per_block",
                                               "unroll",   "weight_access"};
    if (numbers.count(name) != 0) continue;
    const bool is_count = name == "leading" || name == "cluster" || name == "stages";
    const bool several = name == "threads_per_row" ? std::stoi(value) > 32
                                                   : is_count && value != "0" && value != "1";
    path +=
        ' ' + name + '=' + (is_count || name == "threads_per_row" ? (several ? "+" : "-") : value);
  }
  return path + (unit.source.find("reduce_dweight") == std::string::npos ? "" : " reduce");
}

std::map<std::string, jit::Unit> units_of_all_paths() {
  Catalog catalog;
  add_builtin_operations(catalog);
  std::map<std::string, jit::Unit> units;
  for (const suite::SuiteSpec& spec : builtin_suites()) {
    if (spec.operation != "rms_norm" && spec.operation != "rms_norm_backward") continue;
    std::vector<std::string> lines;
    for (const auto& batch : spec.batches) {
      lines.insert(lines.end(), batch.problems.begin(), batch.problems.end());
    }
    for (const Problem& problem :
         suite::parse_problems(lines, *catalog.find_contract(spec.operation), catalog)) {
      for (const int capability : {80, 90, 100, 120}) {
        Hardware hardware;
        hardware.kind = DeviceKind::kCuda;
        hardware.capability = capability;
        for (jit::Unit& unit : cuda_units(problem, hardware)) {
          units.emplace(path_of(unit), std::move(unit));
        }
      }
    }
  }
  return units;
}

TEST(CudaUnits, CompileOnEveryArchitectureWithoutSpills) {
  jit::NvrtcToolchain nvrtc{jit::NvrtcOptions{}};
  if (nvrtc.library().empty()) GTEST_SKIP() << "no libnvrtc on this machine";
  const auto units = units_of_all_paths();
  RecordProperty("units", static_cast<int>(units.size()));
  std::printf("%zu units\n", units.size());
  EXPECT_GT(units.size(), 50U);
  EXPECT_LE(static_cast<int>(units.size()), kMostUnits);

  jit::Session session{jit::SessionOptions{}};  // no cache directory: compiles for certain
  const auto compile_every_other = [&](int from) {
    std::string spilled;
    int index = 0;
    for (const auto& [path, unit] : units) {
      if (index++ % 2 != from) continue;
      const jit::CompileFacts facts = session.compile(nvrtc, unit)->entry.record.facts;
      if (facts.registers <= 0 || facts.spill_store_bytes != 0 || facts.spill_load_bytes != 0) {
        spilled +=
            fmt::format("{} registers, {} + {} bytes spilled: {} {}\n", facts.registers,
                        facts.spill_store_bytes, facts.spill_load_bytes, unit.arch, unit.cfg);
      }
    }
    return spilled;
  };
  auto other = std::async(std::launch::async, compile_every_other, 1);
  const std::string spilled = compile_every_other(0);
  EXPECT_EQ(spilled + other.get(), "");
}

}  // namespace
}  // namespace kw::ops::rms_norm
