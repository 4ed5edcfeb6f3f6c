// SPDX-License-Identifier: Apache-2.0
// The host half of cuda.jit: domain, Cfg, units, and compilation by the real NVRTC. No GPU needed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "kernelwright/backend/cuda/cuda_toolchain.hpp"
#include "kernelwright/backend/cuda/toolchain_nvrtc.hpp"
#include "kernelwright/core/explain.hpp"
#include "kernelwright/jit/args_schema.hpp"
#include "kernelwright/jit/plan.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/ops/rms_norm/contract.hpp"
#include "kernelwright/suite/operand.hpp"
#include "kernelwright/suite/suite.hpp"
#include "support/expect_error.hpp"
#include "support/fake_device.hpp"

namespace kw::ops::rms_norm {
namespace {

using Fields = std::map<std::string, std::string>;

class CudaRmsNorm : public ::testing::Test {
 protected:
  CudaRmsNorm() { add_builtin_operations(catalog_); }

  Problem problem(const std::string& text) { return parse_problem(text, catalog_); }

  static Hardware device(int capability) {
    Hardware hardware;
    hardware.kind = DeviceKind::kCuda;
    hardware.capability = capability;
    hardware.units = 132;
    return hardware;
  }
  static Fields fields(const Problem& problem, int capability = 90) {
    const auto units = cuda_units(problem, device(capability));
    return {units.at(0).fields.begin(), units.at(0).fields.end()};
  }
  std::string fact(const std::string& text, const char* name, int capability = 90) {
    return fields(problem(text), capability).at(name);
  }
  static const Implementation& implementation(const Catalog& catalog, const Problem& problem) {
    return *catalog.find_implementation("cuda.jit." + problem.operation()).second;
  }

  Catalog catalog_;
};

TEST_F(CudaRmsNorm, LayoutAndAlignmentDecideHowRowsAreMoved) {
  const auto aligned = [&](const char* x, const char* weight) {
    return fact(std::string("rms_norm/standard x=") + x + " weight=" + weight, "aligned");
  };
  EXPECT_EQ(aligned("bf16[4,7168]", "bf16[7168]"), "true");
  EXPECT_EQ(aligned("bf16[4,7168]@4", "bf16[7168]"), "false");
  EXPECT_EQ(aligned("bf16[4,514]", "bf16[514]"), "false");
  EXPECT_EQ(aligned("bf16[4,128]:[132,1]", "bf16[128]"), "false");
  EXPECT_EQ(aligned("bf16[4,128]:[136,1]", "bf16[128]"), "true");
  EXPECT_EQ(aligned("bf16[4,128]:[0,1]", "bf16[128]"), "true");
  EXPECT_EQ(aligned("bf16[4,128]:[256,2]", "bf16[128]"), "false");
  EXPECT_EQ(aligned("f32[4,6]", "f32[6]"), "false");
  const std::string strided = "rms_norm/standard x=bf16[4,128] weight=bf16[128]:[2]";
  EXPECT_EQ(fact(strided, "unit_stride"), "false");
  const std::string packed = "rms_norm/standard weight=bf16[128] x=bf16[2,9,4,128]:";
  EXPECT_EQ(fact(packed + "[18432,2048,256,1]", "leading"), "2");
  EXPECT_EQ(fact("rms_norm/standard weight=bf16[128] x=bf16[2,9,4,128]", "leading"), "1");
}

// The order of summation of a row follows from its width and dtype alone.
TEST_F(CudaRmsNorm, LayoutDoesNotChangeTheTree) {
  const auto tree = [&](const std::string& text) {
    const Fields all = fields(problem(text));
    return all.at("threads_per_row") + " " + all.at("cluster") + " " + all.at("reload");
  };
  for (const int hidden : {1, 8, 100, 128, 1000, 4096, 7168, 16384, 65536, 262144}) {
    for (const std::string dtype : {"bf16", "f32"}) {
      const std::string width = std::to_string(hidden), whole = dtype + "[4," + width + "]";
      const std::string weight = " weight=" + dtype + "[" + width + "]";
      const std::string pitched = whole + ":[" + std::to_string(hidden + 1) + ",1]";
      const std::string forward = "rms_norm/fp32" + weight + " x=";
      EXPECT_EQ(tree(forward + whole), tree(forward + pitched)) << hidden;
      EXPECT_EQ(tree(forward + whole), tree(forward + whole + "@4")) << hidden;
      const std::string backward = "rms_norm_backward/fp32" + weight + " want_dx=true dy=" + whole;
      EXPECT_EQ(tree(backward + " x=" + whole), tree(backward + " x=" + pitched)) << hidden;
      EXPECT_EQ(tree(backward + " x=" + whole), tree(backward + " x=" + whole + "@4")) << hidden;
    }
  }
}

TEST_F(CudaRmsNorm, TheDeviceLimitsClustersAndCopies) {
  const std::string wide = "rms_norm/standard x=bf16[4,262144] weight=bf16[262144]";
  EXPECT_EQ(fact(wide, "reload", 80), "true");
  EXPECT_EQ(fact(wide, "cluster", 80), "1");
  EXPECT_NE(fact(wide, "cluster", 90), "1");
  const std::string backward =
      "rms_norm_backward/standard dy=bf16[64,4096] x=bf16[64,4096] weight=bf16[4096] "
      "want_dx=true want_dweight=true";
  EXPECT_EQ(fact(backward, "stages", 80), "0");
  EXPECT_NE(fact(backward, "stages", 90), "0");
}

TEST_F(CudaRmsNorm, UnalignedWideRowsReadWeightsFromSharedMemory) {
  const auto backward = [](const std::string& shape, const std::string& weight) {
    return "rms_norm_backward/standard dy=" + shape + " x=" + shape + " weight=" + weight +
           " want_dx=true want_dweight=true";
  };
  EXPECT_EQ(fact(backward("bf16[64,16383]", "bf16[16383]"), "weights"), "shared");
  EXPECT_EQ(fact(backward("bf16[64,16383]", "f32[16383]"), "weights"), "shared");
  EXPECT_EQ(fact(backward("bf16[64,16384]", "bf16[16384]"), "weights"), "registers");
  EXPECT_EQ(fact(backward("bf16[64,4097]", "bf16[4097]"), "weights"), "registers")
      << "one access a row: its weights wait in registers";
  EXPECT_EQ(fact(backward("bf16[64,16383]", "bf16[16383]"), "weights", 80), "memory");
}

// What was measured on an H200 and is not the formula's.
TEST_F(CudaRmsNorm, TheTableKnowsTwoWidthsOfTheBackward) {
  const auto backward = [](const std::string& width) {
    return "rms_norm_backward/standard dy=bf16[64," + width + "] x=bf16[64," + width +
           "] weight=bf16[" + width + "] want_dx=true want_dweight=true";
  };
  EXPECT_EQ(fact(backward("7168"), "fill_first"), "true");
  EXPECT_EQ(fact(backward("7168"), "weights"), "memory");
  EXPECT_EQ(fact(backward("4096"), "stages"), "3");
  EXPECT_EQ(fact(backward("6144"), "fill_first"), "false");
  EXPECT_EQ(fact(backward("6144"), "stages"), "4");
}

// Every problem of the batches: a valid Cfg on every kind of device, workspace for its partials,
// and the same order of summation for the first rows alone.
TEST_F(CudaRmsNorm, ServesEverySuiteProblemAndKeepsItsTree) {
  int seen = 0;
  for (const suite::SuiteSpec& spec : builtin_suites()) {
    if (spec.operation != "rms_norm" && spec.operation != "rms_norm_backward") continue;
    const Contract& contract = *catalog_.find_contract(spec.operation);
    std::vector<std::string> lines;
    for (const auto& batch : spec.batches) {
      lines.insert(lines.end(), batch.problems.begin(), batch.problems.end());
    }
    for (const Problem& whole : suite::parse_problems(lines, contract, catalog_)) {
      const auto& functions = implementation(catalog_, whole).functions;
      for (const int capability : {80, 90, 100, 120}) {
        const auto rejection = functions.supports(nullptr, whole, device(capability));
        EXPECT_FALSE(rejection) << problem_text(whole) << ": "
                                << (rejection ? rejection->text : "");
      }
      const Fields expected = fields(whole);
      for (const std::int64_t size : {0, 1, 3}) {
        if (whole.symbols.batch.front() < size) continue;
        const Fields part = fields(suite::batch_prefix(whole, size));
        for (const char* name : {"threads_per_row", "cluster", "reload"}) {
          EXPECT_EQ(part.at(name), expected.at(name)) << name << " of " << problem_text(whole);
        }
      }
      if (contract.find_parameter("dweight") >= 0 && whole.has("dweight")) {
        // A launch writes as many partial sums as the geometry says.
        const std::int64_t count =
            std::min<std::int64_t>(whole.rows(), std::stoll(expected.at("partials")));
        EXPECT_GE(functions.workspace(nullptr, whole).bytes, 4 * count * whole.size("C"))
            << problem_text(whole);
      }
      ++seen;
    }
  }
  EXPECT_GT(seen, 300);
}

TEST_F(CudaRmsNorm, PinsSetGeometryAndNothingElse) {
  const Problem p = problem("rms_norm/standard x=bf16[4,7168] weight=bf16[7168]");
  const auto choose = [&](const CfgPins& pins) {
    return implementation(catalog_, p).functions.choose(nullptr, p, device(90), pins).text;
  };
  EXPECT_NE(choose({{"threads_per_row", "448"}}).find("threads_per_row = 448"), std::string::npos);
  test::expect_error(Code::kNotFound, {"threads_per_rows", "threads_per_row"}, [&] {
    choose({{"threads_per_rows", "448"}});
  });
  test::expect_error(Code::kInvalidArgument, {"whole warps"}, [&] {
    choose({{"threads_per_row", "100"}});
  });
  test::expect_error(Code::kInvalidArgument, {"hidden", "follows from the problem"}, [&] {
    choose({{"hidden", "128"}});
  });
}

TEST_F(CudaRmsNorm, RejectsDoubles) {
  const Problem p = problem("rms_norm/standard x=f64[4,64] weight=f64[64]");
  const auto doubles = implementation(catalog_, p).functions.supports(nullptr, p, device(90));
  ASSERT_TRUE(doubles);
  EXPECT_EQ(doubles->code, Rejection::Code::kDType);
}

TEST_F(CudaRmsNorm, IsWhatAutoSelectsOnACudaDevice) {
  test::FakeDevice fake;
  const Context context(catalog_, Settings{}, fake);
  EXPECT_EQ(explain(context, "rms_norm", "standard").selected, "cuda.jit.rms_norm");
  EXPECT_EQ(explain(context, "rms_norm_backward", "fp32").selected, "cuda.jit.rms_norm_backward");
  test::FakeDevice old({.capability = 75});
  const Context before(catalog_, Settings{}, old);
  EXPECT_NE(explain(before, "rms_norm", "standard").selected, "cuda.jit.rms_norm");
}

TEST_F(CudaRmsNorm, OneReduceKernelServesEveryGeometryOfAWidth) {
  const auto units = [&](const char* rows) {
    const std::string shape = std::string("[") + rows + ",4096]";
    return cuda_units(problem("rms_norm_backward/fp32 dy=bf16" + shape + " x=bf16" + shape +
                              " weight=f32[4096] want_dweight=true"),
                      device(90));
  };
  ASSERT_EQ(units("3").size(), 2U);
  EXPECT_EQ(units("3")[1].source, units("20000")[1].source);
  EXPECT_EQ(units("3")[1].shape.block.x, 1024U);
}

TEST_F(CudaRmsNorm, ArgumentsHaveASchema) {
  EXPECT_EQ(jit::args_schema<CudaForwardArgs>().size(), 13U);
  EXPECT_EQ(jit::args_schema<CudaBackwardArgs>().size(), 20U);
}

// One problem of each kernel path.
TEST_F(CudaRmsNorm, UnitsCompileWithoutSpills) {
  jit::NvrtcToolchain nvrtc{jit::NvrtcOptions{}};
  if (nvrtc.library().empty()) GTEST_SKIP() << "no libnvrtc on this machine";
  jit::SessionOptions options;  // no cache directory: compiles for certain
  jit::Session session(options);
  for (const char* text :
       {"rms_norm/standard x=bf16[64,7168] weight=bf16[7168]",
        "rms_norm/qwen3_5 x=f16[4,128] weight=f32[128] want_rstd=true",
        "rms_norm/unweighted x=f32[4,513]",
        "rms_norm/fp32 x=bf16[3,262143]@2 weight=bf16[262143]@2",
        "rms_norm/fp32 x=bf16[3,262144] weight=bf16[262144]",
        "rms_norm_backward/standard dy=bf16[64,4096] x=bf16[64,4096] weight=bf16[4096] "
        "rstd=f32[64] want_dx=true want_dweight=true",
        "rms_norm_backward/standard dy=bf16[64,16383] x=bf16[64,16383] weight=bf16[16383] "
        "rstd=f32[64] want_dx=true want_dweight=true",
        "rms_norm_backward/standard dy=bf16[64,16384] x=bf16[64,16384] weight=bf16[16384] "
        "rstd=f32[64] want_dx=true want_dweight=true",
        "rms_norm_backward/qwen3_5 dy=f32[4,31] x=f32[4,31] weight=f32[31] want_dx=true "
        "want_dweight=true"}) {
    for (const jit::Unit& unit : cuda_units(problem(text), device(90))) {
      EXPECT_EQ(unit.arch, "sm_90a");
      const auto compiled = session.compile(nvrtc, unit);
      EXPECT_EQ(std::memcmp(compiled->entry.image.data(),
                            "\x7f"
                            "ELF",
                            4),
                0)
          << text;
      EXPECT_EQ(compiled->entry.record.facts.spill_store_bytes, 0) << text << unit.cfg;
      // An array that is indexed at run time would lie in local memory.
      EXPECT_EQ(compiled->entry.record.facts.stack_bytes, 0) << text << unit.cfg;
    }
  }
}

}  // namespace
}  // namespace kw::ops::rms_norm
