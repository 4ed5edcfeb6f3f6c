// SPDX-License-Identifier: Apache-2.0
// Whole cases: a right implementation passes every fill and layout, and each wrong one ends with
// the reason code of what is wrong with it.
#include "kernelwright/suite/validate.hpp"

#include <ostream>

#include <gtest/gtest.h>

#include "kernelwright/base/error.hpp"
#include "kernelwright/suite/checks/page_guard.hpp"
#include "kernelwright/suite/inputs.hpp"
#include "kernelwright/suite/runner.hpp"
#include "kernelwright/suite/selftest/probe.hpp"
#include "suite/support/host_device.hpp"

namespace kw::suite {

void PrintTo(Sabotage sabotage, std::ostream* out) { *out << static_cast<int>(sabotage); }

namespace {

constexpr const char* kPlain = "affine/one x=bf16[16,64] gain=bf16[64] want_total=true";

// A catalog with one (possibly sabotaged) implementation, ready to run cases.
struct Bench {
  Catalog catalog;
  test::HostDevice device;
  Platform platform{catalog, device, {}, {}};
  Request request;
  std::unique_ptr<TargetRunner> runner;

  explicit Bench(Sabotage sabotage = Sabotage::kNone,
                 std::string implementation = "cpu.toy.affine") {
    add_probes(catalog, sabotage);
    const auto [operation, entry] = catalog.find_implementation(implementation);
    runner = std::make_unique<TargetRunner>(Target{operation, entry}, request, platform, 5, 1e9);
  }
  CaseResult run(std::string_view problem, Fill fill = Fill::kNormal, std::uint64_t seed = 1) {
    return runner->run({parse_problem(problem, catalog), fill, seed});
  }
};

TEST(Validate, ARightImplementationPassesEveryFill) {
  Bench bench;
  for (const char* problem : {kPlain, "affine/two x=bf16[16,64] gain=bf16[64] want_total=true",
                              "affine/one x=f16[3,5,33] gain=f16[33]",
                              "affine/one x=f32[70,64] gain=f32[64] want_total=true bias=-1",
                              "affine/two x=f16[1,4096] gain=f16[4096]"}) {
    for (const Fill fill : fill_catalogue()) {
      const CaseResult result = bench.run(problem, fill);
      EXPECT_EQ(result.status, CaseStatus::kPassed) << result.repro << "\n" << result.message;
      EXPECT_EQ(result.reason, Reason::kNone);
    }
  }
}

TEST(Validate, EveryLayoutAndEmptyShapes) {
  Bench bench;
  for (const char* problem :
       {"affine/one x=bf16[4,8,33]:[400,41,1] gain=bf16[33]@2",
        "affine/one x=bf16[4,8,33]:[33,0,1]@8 gain=bf16[33]:[3]",
        "affine/one x=bf16[16,64] gain=bf16[64] y=bf16[16,64]:[80,1]@2 want_total=true",
        "affine/one x=f32[0,64] gain=f32[64] want_total=true",
        "affine/one x=f32[3,0,7] gain=f32[7]", "affine/one x=f32[1] gain=f32[1]",
        "affine/one x=f32[64] gain=f32[64]"}) {
    std::string text = problem;
    if (text.find(" y=") != std::string::npos) {  // output layouts have no text: set them
      text.erase(text.find(" y="), text.find(" want") - text.find(" y="));
      Problem checked = parse_problem(text, bench.catalog);
      TensorSpec& y = checked.value("y").tensor;
      y.contiguous = false;
      y.strides = {80, 1};
      y.align = 2;
      const CaseResult result = bench.runner->run({checked, Fill::kNormal, 1});
      EXPECT_EQ(result.status, CaseStatus::kPassed) << result.message;
      continue;
    }
    const CaseResult result = bench.run(text);
    EXPECT_EQ(result.status, CaseStatus::kPassed) << result.repro << "\n" << result.message;
  }
}

TEST(Validate, ReportsWhatItMeasured) {
  Bench bench;
  const CaseResult result = bench.run(kPlain);
  ASSERT_EQ(result.outputs.size(), 2U);
  EXPECT_EQ(result.outputs[0].output, "y");
  EXPECT_EQ(result.outputs[0].elements, 16 * 64);
  EXPECT_GT(result.outputs[0].tensor_nrmse, 1e-3);
  EXPECT_LT(result.outputs[0].tensor_nrmse, result.outputs[0].tensor_limit);
  EXPECT_GT(result.trust, 100);
  std::vector<std::string> names;
  for (const CheckResult& check : result.checks) names.push_back(check.name);
  if (has_page_guards()) {
    EXPECT_EQ(names.front(), "pages");
    names.erase(names.begin());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"memory", "oracle:y", "oracle:total", "trust",
                                             "repeat", "batch", "empty"}));
  EXPECT_EQ(result.repro,
            std::string("kw numerics --implementation cpu.toy.affine --problem '") + kPlain + "'");
  EXPECT_EQ(bench.run(kPlain, Fill::kBig, 7).repro.substr(result.repro.size()),
            " --fill big --seed 7");
  EXPECT_EQ(result.id, bench.run(kPlain).id);
  EXPECT_NE(result.id, bench.run(kPlain, Fill::kNormal, 2).id);
}

TEST(Validate, ABackwardGetsWhatItsForwardSaved) {
  Bench bench(Sabotage::kNone, "cpu.toy.affine_backward");
  const CaseResult result =
      bench.run("affine_backward/one dy=bf16[16,64] x=bf16[16,64] gain=bf16[64] total=f32[64]");
  EXPECT_EQ(result.status, CaseStatus::kPassed) << result.message;

  // `total` is the sum of x over rows, and nothing random.
  const Problem problem = parse_problem(
      "affine_backward/one dy=f32[16,64] x=f32[16,64] gain=f32[64] total=f32[64]", bench.catalog);
  PlacedTensors placed(bench.device, problem, 1);
  fill_inputs(placed, problem, Fill::kNormal, 1, bench.catalog);
  const auto inputs = read_inputs(placed);
  for (std::size_t c = 0; c < 64; ++c) {
    double sum = 0;
    for (std::size_t r = 0; r < 16; ++r) sum += inputs[1][r * 64 + c];
    EXPECT_NEAR(inputs[3][c], sum, 1e-5);
  }
}

// As a callable that no child process may call.
class InProcess final : public Callable {
 public:
  explicit InProcess(Callable& inner) : inner_(inner) {}
  bool accepts(const Problem& problem) const override { return inner_.accepts(problem); }
  WorkspaceSize prepare(const Problem& problem) override { return inner_.prepare(problem); }
  void set_workspace(WorkspaceSource* source) noexcept override { inner_.set_workspace(source); }
  Status call(const Arguments& arguments) noexcept override { return inner_.call(arguments); }

 private:
  Callable& inner_;
};

struct Expected {
  Sabotage sabotage;
  Reason reason;
  const char* check;
  const char* problem = kPlain;
  Fill fill = Fill::kNormal;
  CaseStatus status = CaseStatus::kFailed;
};

class Saboteur : public testing::TestWithParam<Expected> {};

TEST_P(Saboteur, IsCaught) {
  const Expected& expected = GetParam();
  Bench bench(expected.sabotage);
  Problem problem = parse_problem(expected.problem, bench.catalog);
  if (expected.sabotage == Sabotage::kWriteGap) {
    TensorSpec& y = problem.value("y").tensor;
    y.contiguous = false;
    y.strides = {80, 1};
  }
  const Case spec{problem, expected.fill, 1};
  CaseResult result = bench.runner->run(spec);
  EXPECT_EQ(status_name(result.status), status_name(expected.status)) << result.message;
  EXPECT_EQ(reason_name(result.reason), reason_name(expected.reason)) << result.message;
  EXPECT_FALSE(result.repro.empty());
  if (result.message.substr(0, 5) == "pages") {
    // The page guards were first; without them another check finds the same.
    InProcess callable(bench.runner->bound());
    result = validate(spec, callable, bench.runner->scratch(), bench.device, bench.catalog,
                      {5, true, true});
  }
  EXPECT_EQ(reason_name(result.reason), reason_name(expected.reason)) << result.message;
  EXPECT_EQ(result.message.substr(0, std::string(expected.check).size()), expected.check)
      << result.message;
}

constexpr const char* kFloat = "affine/one x=f32[16,64] gain=f32[64]";
constexpr const char* kTwo = "affine/two x=bf16[16,64] gain=bf16[64]";
constexpr const char* kLarge = "affine/one x=bf16[64,512] gain=bf16[512]";

INSTANTIATE_TEST_SUITE_P(
    All, Saboteur,
    testing::Values(
        Expected{Sabotage::kZeros, Reason::kNumericMismatch, "oracle:y"},
        Expected{Sabotage::kCopyInput, Reason::kNumericMismatch, "oracle:y"},
        Expected{Sabotage::kExtraRounding, Reason::kNumericMismatch, "oracle:y", kLarge},
        Expected{Sabotage::kMissingRounding, Reason::kNumericMismatch, "oracle:y", kTwo},
        Expected{Sabotage::kTruncate, Reason::kNumericMismatch, "oracle:y", kLarge},
        Expected{Sabotage::kScale, Reason::kNumericMismatch, "oracle:y", kLarge},
        Expected{Sabotage::kOneElement, Reason::kNumericMismatch, "oracle:y"},
        Expected{Sabotage::kSkipLastRow, Reason::kUnwrittenOutput, "unwritten:y"},
        Expected{Sabotage::kSkipTotal, Reason::kUnwrittenOutput, "unwritten:total"},
        Expected{Sabotage::kMutateInput, Reason::kUndeclaredMutation, "mutation:x"},
        Expected{Sabotage::kWriteBefore, Reason::kOobWrite, "canary:y"},
        Expected{Sabotage::kWriteAfter, Reason::kOobWrite, "canary:y"},
        Expected{Sabotage::kWriteGap, Reason::kOobWrite, "canary:y"},
        Expected{Sabotage::kReadsOutput, Reason::kReadsUninitialised, "poison:y"},
        Expected{Sabotage::kReadsWorkspace, Reason::kReadsUninitialised, "poison:y"},
        Expected{Sabotage::kWorkspaceOverflow, Reason::kOobWrite, "canary:workspace"},
        Expected{Sabotage::kWorkspaceDirty, Reason::kUndeclaredMutation, "workspace"},
        Expected{Sabotage::kSwallowNan, Reason::kNonfiniteMismatch, "oracle:y", kPlain,
                 Fill::kNanRow},
        Expected{Sabotage::kSpreadNan, Reason::kNonfiniteMismatch, "oracle:y", kPlain,
                 Fill::kNanRow},
        Expected{Sabotage::kBatchDependent, Reason::kBatchVariant, "batch:y", kFloat},
        Expected{Sabotage::kNondeterministic, Reason::kNondeterministic, "repeat:y", kFloat},
        Expected{Sabotage::kWrongEmpty, Reason::kNumericMismatch, "empty:total"},
        Expected{Sabotage::kFailLaunch, Reason::kRejectedValid, "launch"},
        Expected{Sabotage::kThrowPrepare, Reason::kRejectedValid, "prepare"}));

TEST(Validate, TruncationIsNamedBiasWhereItIsOneUlp) {
  Bench bench(Sabotage::kTruncate);
  const CaseResult result = bench.run(kLarge);
  bool bias = false;
  for (const CheckResult& check : result.checks) bias |= check.reason == Reason::kBias;
  EXPECT_TRUE(bias);
}

TEST(Validate, OutsideTheDomainIsNotAFailure) {
  Bench bench;
  const CaseResult result = bench.run("affine/one x=f64[4,8] gain=f64[8]");
  EXPECT_EQ(result.status, CaseStatus::kNotApplicable);
  EXPECT_EQ(result.reason, Reason::kDomainExcluded);
  EXPECT_NE(result.message.find("f64 is for the oracle"), std::string::npos) << result.message;
}

TEST(Validate, ADegenerateOracleIsNotTrusted) {
  // gain = 0 by a fill that the operation turns into a constant: nothing distinguishes rows.
  Bench bench;
  const CaseResult result = bench.run("affine/one x=bf16[16,64]:[0,1] gain=bf16[64] bias=0");
  EXPECT_EQ(result.status, CaseStatus::kPassed) << result.message;  // repeated rows are no defect
  Bench zeros(Sabotage::kZeros);
  EXPECT_EQ(zeros.run("affine/one x=bf16[16,64] gain=bf16[64] bias=0", Fill::kZeros).status,
            CaseStatus::kPassed);
  EXPECT_EQ(zeros.run("affine/one x=bf16[16,64] gain=bf16[64] bias=0", Fill::kZeros).trust, 0);
}

TEST(Validate, TooLargeForTheMachineIsSkipped) {
  Bench bench;
  const CaseResult result = bench.run("affine/one x=bf16[100000,4096] gain=bf16[4096]");
  EXPECT_EQ(result.status, CaseStatus::kSkipped);
  EXPECT_EQ(result.reason, Reason::kOomSkipped);
}

// The validator judges the callable it is handed, not the implementation behind it.
TEST(Validate, JudgesTheCallableItWasHanded) {
  class ForgetfulCallable final : public Callable {
   public:
    explicit ForgetfulCallable(Callable& inner) : inner_(inner) {}
    WorkspaceSize prepare(const Problem& problem) override { return inner_.prepare(problem); }
    Status call(const Arguments& arguments) noexcept override {
      return ++calls_ == 1 ? inner_.call(arguments) : Status{};
    }

   private:
    Callable& inner_;
    int calls_ = 0;
  };
  Bench bench;
  ForgetfulCallable forgetful(bench.runner->bound());
  const CaseResult result =
      validate({parse_problem(kPlain, bench.catalog), Fill::kNormal, 1}, forgetful,
               bench.runner->scratch(), bench.device, bench.catalog, {});
  EXPECT_EQ(result.status, CaseStatus::kFailed);
}

}  // namespace
}  // namespace kw::suite
