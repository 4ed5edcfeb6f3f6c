// SPDX-License-Identifier: Apache-2.0
// Mistakes of published kernels, planted in a copy of rms_norm: each is found, under the code that
// says what it is, and the copy without one passes the same cases.
#include <gtest/gtest.h>

#include <ostream>

#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/ops/rms_norm/contract.hpp"
#include "kernelwright/suite/checks/page_guard.hpp"
#include "kernelwright/suite/runner.hpp"
#include "kernelwright/suite/selftest/emulated_device.hpp"
#include "ops/rms_norm/support/planted.hpp"

namespace kw::ops::rms_norm {
namespace {

using suite::CaseResult;
using suite::CaseStatus;
using suite::Fill;
using suite::Reason;

struct Plant {
  const char* name;
  Fault fault;
  std::vector<Reason> codes;
  const char* problem;
  Fill fill = Fill::kNormal;
  bool needs_page_guards = false;
};

void PrintTo(const Plant& plant, std::ostream* out) { *out << plant.name; }

CaseResult judge(const Plant& plant, Fault fault) {
  const DeviceKind kind = plant.fault == Fault::kSideStream ? DeviceKind::kCuda : DeviceKind::kCpu;
  suite::EmulatedDevice device(kind);
  Catalog catalog;
  add_builtin_operations(catalog);
  Implementation implementation = planted(fault, kind);
  const std::string name = implementation.info.name;
  catalog.register_implementation("rms_norm", std::move(implementation));
  const suite::Platform platform{catalog, device, {}, {}};
  const suite::Request request;
  const auto [operation, entry] = catalog.find_implementation(name);
  suite::TargetRunner runner({operation, entry}, request, platform, 5, 1e9);
  runner.check_classes();
  return runner.run({parse_problem(plant.problem, catalog), plant.fill, 1});
}

class Planted : public testing::TestWithParam<Plant> {};

TEST_P(Planted, IsCaught) {
  const Plant& plant = GetParam();
  if (plant.needs_page_guards && !suite::has_page_guards())
    GTEST_SKIP() << "this build has no page guards";
  const CaseResult right = judge(plant, Fault::kNone);
  EXPECT_EQ(right.status, CaseStatus::kPassed) << right.message;
  const CaseResult wrong = judge(plant, plant.fault);
  EXPECT_EQ(wrong.status, CaseStatus::kFailed) << wrong.message;
  EXPECT_NE(std::find(plant.codes.begin(), plant.codes.end(), wrong.reason), plant.codes.end())
      << reason_name(wrong.reason) << ": " << wrong.message;
  RecordProperty("caught_as", std::string(reason_name(wrong.reason)) + ": " + wrong.message);
}

INSTANTIATE_TEST_SUITE_P(
    All, Planted,
    testing::Values(Plant{"extra_rounding",
                          Fault::kExtraRounding,
                          {Reason::kNumericMismatch},
                          "rms_norm/fp32 x=bf16[64,512] weight=bf16[512]"},
                    Plant{"tail_over_next_row",
                          Fault::kTailOverNextRow,
                          {Reason::kOobWrite, Reason::kNumericMismatch},
                          "rms_norm/standard x=bf16[9,515] weight=bf16[515]"},
                    Plant{"tree_by_row_count",
                          Fault::kTreeByRowCount,
                          {Reason::kBatchVariant},
                          "rms_norm/fp32 x=f32[16,2048] weight=f32[2048]"},
                    Plant{"weight_type",
                          Fault::kWeightType,
                          {Reason::kNumericMismatch},
                          "rms_norm/fp32 x=bf16[16,512] weight=f32[512]"},
                    Plant{"last_row",
                          Fault::kLastRow,
                          {Reason::kUnwrittenOutput},
                          "rms_norm/standard x=bf16[16,512] weight=bf16[512]"},
                    Plant{"cached",
                          Fault::kCached,
                          {Reason::kStaleReplay},
                          "rms_norm/standard x=bf16[16,512] weight=bf16[512]"},
                    Plant{"side_stream",
                          Fault::kSideStream,
                          {Reason::kWrongStream},
                          "rms_norm/standard x=bf16[16,512] weight=bf16[512]"},
                    Plant{"in_place_contiguous",
                          Fault::kInPlaceContiguous,
                          {Reason::kUndeclaredMutation},
                          "rms_norm/standard x=bf16[16,512] weight=bf16[512]"},
                    Plant{"int32_offset",
                          Fault::kNarrowOffset,
                          {Reason::kCrash, Reason::kOobRead},
                          "rms_norm/fp32 x=bf16[3,512]:[1073741824,1] weight=bf16[512]",
                          Fill::kNormal,
                          true},
                    Plant{"swallows_nan",
                          Fault::kSwallowsNan,
                          {Reason::kNonfiniteMismatch},
                          "rms_norm/standard x=bf16[16,512] weight=bf16[512]",
                          Fill::kNanRow}),
    [](const auto& plant) { return std::string(plant.param.name); });

}  // namespace
}  // namespace kw::ops::rms_norm
