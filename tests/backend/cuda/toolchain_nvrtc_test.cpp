// SPDX-License-Identifier: Apache-2.0
// Compiles with the real NVRTC; no GPU needed. Skipped, with the reason, where there is none.
#include "kernelwright/backend/cuda/toolchain_nvrtc.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <filesystem>
#include <fstream>

#include "jit/support/toy_unit.hpp"
#include "kernelwright/jit/plan.hpp"
#include "support/expect_error.hpp"

namespace kw::jit {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, std::string> kHeaders{
    {"kernelwright/ops/scale/cfg.hpp", R"(
#pragma once
namespace scale {
struct Cfg {
  int threads = 128;
  bool twice = false;
};
struct Args {
  const float* x;
  float* y;
  long long n;
};
constexpr int threads(const Cfg& cfg) { return cfg.threads; }
}
)"},
    {"kernelwright/ops/scale/cuda_body.cuh", R"(
#pragma once)"
                                             "\n#include \"kernelwright/ops/scale/cfg.hpp\"\n"
                                             R"(namespace scale {
template <Cfg kCfg>
void run(const Args& args) {
  __shared__ float staged[kCfg.threads];
  const long long i = static_cast<long long>(blockIdx.x) * kCfg.threads + threadIdx.x;
  staged[threadIdx.x] = i < args.n ? args.x[i] : 0.0f;
  __syncthreads();
  if (i < args.n) args.y[i] = staged[kCfg.threads - 1 - threadIdx.x] * (kCfg.twice ? 2.0f : 1.0f);
}
}
)"}};

struct ScaleCfg {
  int threads = 128;
  bool twice = false;
  static constexpr void visit(auto& self, auto& v) {
    v("threads", self.threads);
    v("twice", self.twice);
  }
};

const KernelBody kBody{
    Dialect::kCuda,        "cuda.jit.scale", "kernelwright/ops/scale/cuda_body.cuh",
    "scale::Cfg",          "scale::Args",    "scale::run<kCfg>",
    "scale::threads(kCfg)"};

Unit scale_unit(const std::string& arch, const ScaleCfg& cfg = {}) {
  return make_unit(kBody, cfg, entry_name("scale", {"f32", std::to_string(cfg.threads)}), arch, {});
}

Binary compile(NvrtcToolchain& toolchain, const Unit& unit) {
  const HeaderBundle bundle(kHeaders);
  return toolchain.compile(
      {unit, toolchain.settings(unit.arch).flags, bundle.reachable(unit.source), "unit.cu"});
}

fs::path repository() { return fs::path(__FILE__).parent_path() / "../../.."; }

void compile_everywhere(NvrtcToolchain& toolchain) {
  for (const char* arch : {"sm_80", "sm_90a", "sm_100a", "sm_120a"}) {
    const Binary binary = compile(toolchain, scale_unit(arch, {.threads = 256, .twice = true}));
    EXPECT_GT(binary.image.size(), 500U) << arch;
    EXPECT_GT(binary.facts.registers, 0) << arch << "\n" << binary.log;
    EXPECT_EQ(binary.facts.spill_store_bytes, 0) << arch << "\n" << binary.log;
    EXPECT_GE(binary.facts.static_shared_bytes, 1024) << arch << "\n" << binary.log;
  }
}

class Nvrtc : public testing::Test {
 protected:
  void SetUp() override {
    if (toolchain_.library().empty()) GTEST_SKIP() << "no libnvrtc on this machine";
  }
  NvrtcToolchain toolchain_{NvrtcOptions{}};
};

TEST_F(Nvrtc, CompilesForEveryArchitectureOfTheCi) { compile_everywhere(toolchain_); }

TEST(Nvrtc12, CompilesForEveryArchitectureOfTheCi) {
  NvrtcOptions options;
  options.python_paths = {(repository() / ".venv/nvrtc12").lexically_normal().string()};
  options.search_process = options.search_system = false;
  NvrtcToolchain toolchain(options);
  if (toolchain.library().find("/.venv/nvrtc12/") == std::string::npos) {
    GTEST_SKIP() << "no NVRTC 12 in .venv/nvrtc12; tools/fetch_nvrtc12.sh gets it";
  }
  EXPECT_EQ(toolchain.description().substr(0, 9), "nvrtc 12.");
  compile_everywhere(toolchain);
}

TEST_F(Nvrtc, RepeatsItselfAndItsFactsByteForByte) {
  const Binary first = compile(toolchain_, scale_unit("sm_90a"));
  const Binary second = compile(toolchain_, scale_unit("sm_90a"));
  EXPECT_EQ(first.image, second.image);
  EXPECT_EQ(second.facts.registers, first.facts.registers);  // its own cache would swallow them
  EXPECT_GT(second.facts.registers, 0);
}

TEST_F(Nvrtc, IgnoresTheLocale) {
  const Binary before = compile(toolchain_, scale_unit("sm_90a"));
  const char* comma = nullptr;
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"}) {
    if (comma == nullptr) comma = std::setlocale(LC_ALL, name);
  }
  if (comma == nullptr) GTEST_SKIP() << "no locale with a decimal comma is installed";
  const Unit unit = scale_unit("sm_90a");
  const Binary after = compile(toolchain_, unit);
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(unit.source, scale_unit("sm_90a").source);
  EXPECT_EQ(after.image, before.image);
  EXPECT_EQ(after.facts.registers, before.facts.registers);
}

TEST_F(Nvrtc, AnErrorCarriesTheWholeLog) {
  Unit unit = scale_unit("sm_90a");
  unit.source += "int broken = no_such_name;\nint worse = nor_this;\n";
  try {
    compile(toolchain_, unit);
    FAIL() << "compiled";
  } catch (const CompileFailure& failure) {
    EXPECT_NE(failure.log().find("no_such_name"), std::string::npos) << failure.log();
    EXPECT_NE(failure.log().find("nor_this"), std::string::npos) << failure.log();
  }
}

TEST_F(Nvrtc, FindsNoHeaderThatIsNotInMemory) {
  Unit unit = scale_unit("sm_90a");
  unit.source = "#include <cuda_fp16.h>\n" + unit.source;
  EXPECT_THROW(compile(toolchain_, unit), CompileFailure);
}

TEST_F(Nvrtc, UnknownArchitecturesAreErrorsWithTheKnownOnes) {
  test::expect_error(Code::kUnsupported, {"sm_35", "sm_90"},
                     [&] { compile(toolchain_, scale_unit("sm_35")); });
  test::expect_error(Code::kInvalidArgument, {"compute_90"},
                     [&] { toolchain_.settings("compute_90"); });
}

TEST_F(Nvrtc, TheWholePathOnceColdAndThenWarmWithoutOpeningTheLibrary) {
  const test::TemporaryDirectory directory;
  const HeaderBundle bundle(kHeaders);
  SessionOptions options;
  options.cache.directory = directory.path();
  options.headers = &bundle;
  const Unit unit = scale_unit("sm_90a");
  const auto cold = Session(options).compile(toolchain_, unit);
  EXPECT_EQ(cold->origin, Origin::kCompiled);
  NvrtcToolchain fresh{NvrtcOptions{}};
  Session session(options);
  const auto warm = session.compile(fresh, unit);
  EXPECT_EQ(warm->origin, Origin::kUser);
  EXPECT_FALSE(fresh.opened());
  EXPECT_EQ(session.counters().identities, 0);
  EXPECT_EQ(warm->entry.record.facts.registers, cold->entry.record.facts.registers);
  EXPECT_EQ(warm->entry.record.toolchain, toolchain_.description());
  RecordProperty("cold_ms", std::to_string(cold->ms));
  RecordProperty("compile_ms", std::to_string(cold->entry.record.compile_ms));
  RecordProperty("warm_ms", std::to_string(warm->ms));
}

TEST(NvrtcProbe, SaysWhereItLookedAndWhatToDo) {
  NvrtcOptions options;
  options.cuda_path = "/nonexistent/cuda";
  options.search_process = options.search_system = false;
  NvrtcToolchain toolchain(options);
  EXPECT_EQ(toolchain.library(), "");
  EXPECT_EQ(toolchain.stamp(), "");
  test::expect_error(Code::kEnvironment, {"CUDA_PATH", "/nonexistent/cuda", "KW_NVRTC"},
                     [&] { toolchain.identity(); });
  options.library = "/nonexistent/libnvrtc.so.13";
  test::expect_error(Code::kEnvironment, {"KW_NVRTC: /nonexistent/libnvrtc.so.13 does not exist"},
                     [&] { NvrtcToolchain(options).description(); });
}

TEST(NvrtcToolchain, ObjectsToBinariesOfALaterMajorVersionThanTheDriver) {
  NvrtcOptions options;
  options.driver_version = 12080;
  const NvrtcToolchain toolchain(options);
  EXPECT_EQ(toolchain.objection("nvrtc 13.0"),
            "made by nvrtc 13.0, newer than the driver's CUDA 12.8");
  EXPECT_EQ(toolchain.objection("nvrtc 12.9"), "");
  EXPECT_EQ(toolchain.objection("nvrtc 11.8"), "");
  EXPECT_EQ(NvrtcToolchain(NvrtcOptions{}).objection("nvrtc 99.0"), "")
      << "no driver, no objection";
}

// Places are found by their names; nothing is opened.
class NvrtcPlaces : public testing::Test {
 protected:
  std::string make(const std::string& name) {
    const fs::path path = fs::path(directory_.path()) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << name;
    return path.string();
  }
  NvrtcOptions options() const {
    NvrtcOptions options;
    options.python_paths = {directory_.path() + "/site"};
    options.cuda_path = directory_.path() + "/cuda";
    options.search_process = options.search_system = false;
    return options;
  }
  test::TemporaryDirectory directory_;
};

TEST_F(NvrtcPlaces, WheelsComeBeforeTheToolkitAndTheHigherVersionFirst) {
  const std::string toolkit = make("cuda/lib64/libnvrtc.so.13");
  const std::string twelve = make("cuda/lib64/libnvrtc.so.12");
  EXPECT_EQ(NvrtcToolchain(options()).library(), toolkit);
  const std::string wheel = make("site/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  EXPECT_EQ(NvrtcToolchain(options()).library(), wheel);
  NvrtcOptions named = options();
  named.library = twelve;
  EXPECT_EQ(NvrtcToolchain(named).library(), twelve);
}

TEST_F(NvrtcPlaces, ToolkitsOfTheSystemAreOrderedByTheNumbersOfTheirVersions) {
  NvrtcOptions system;
  system.search_process = false;
  system.system_root = directory_.path();
  make("cuda-12.4/lib64/libnvrtc.so.12");
  const std::string nine = make("cuda-12.9/lib64/libnvrtc.so.12");
  EXPECT_EQ(NvrtcToolchain(system).library(), nine);
  const std::string ten = make("cuda-12.10/lib64/libnvrtc.so.12");
  EXPECT_EQ(NvrtcToolchain(system).library(), ten);
  const std::string thirteen = make("cuda-13.0/lib64/libnvrtc.so.13");
  EXPECT_EQ(NvrtcToolchain(system).library(), thirteen);
  system.driver_version = 12080;
  EXPECT_EQ(NvrtcToolchain(system).library(), ten);
  const std::string chosen = make("cuda/lib64/libnvrtc.so.12");
  EXPECT_EQ(NvrtcToolchain(system).library(), chosen) << "the one that the system made its own";
}

TEST_F(NvrtcPlaces, OfSeveralWheelsTheNewestCounts) {
  make("site/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  const std::string thirteen = make("site/nvidia/cu13/lib/libnvrtc.so.13");
  EXPECT_EQ(NvrtcToolchain(options()).library(), thirteen);
}

TEST_F(NvrtcPlaces, ACompilerNewerThanTheDriverIsRefused) {
  make("cuda/lib64/libnvrtc.so.13");
  NvrtcOptions old = options();
  old.driver_version = 12080;
  test::expect_error(Code::kEnvironment, {"libnvrtc.so.13", "newer than the driver's 12.8"},
                     [&] { NvrtcToolchain(old).identity(); });
  const std::string twelve = make("cuda/lib64/libnvrtc.so.12");
  EXPECT_EQ(NvrtcToolchain(old).library(), twelve);
  old.driver_version = 13000;
  EXPECT_NE(NvrtcToolchain(old).library(), twelve);
}

TEST_F(NvrtcPlaces, IdentityIsOfTheBytesAndTheStampOfTheInodes) {
  make("cuda/lib64/libnvrtc.so.13");
  make("cuda/lib64/libnvrtc-builtins.so.13.0");
  NvrtcToolchain first(options());
  const Digest identity = first.identity();
  const std::string stamp = first.stamp();
  fs::rename(directory_.path() + "/cuda", directory_.path() + "/moved");
  fs::copy(directory_.path() + "/moved", directory_.path() + "/cuda", fs::copy_options::recursive);
  NvrtcToolchain copied(options());
  EXPECT_EQ(copied.identity(), identity);
  EXPECT_NE(copied.stamp(), stamp);
  std::ofstream(directory_.path() + "/cuda/lib64/libnvrtc-builtins.so.13.0") << "patched";
  EXPECT_NE(NvrtcToolchain(options()).identity(), identity);
}

TEST(PtxasLog, IsReadForTheEntry) {
  const std::string log =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'other' for 'sm_90a'\n"
      "ptxas info    : Function properties for other\n"
      "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 8 bytes stack size\n"
      "ptxas info    : Compiling entry function 'mine' for 'sm_90a'\n"
      "ptxas info    : Function properties for mine\n"
      "    16 bytes stack frame, 20 bytes spill stores, 24 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 1040 "
      "bytes smem\n";
  const CompileFacts facts = parse_ptxas_log(log, "mine");
  EXPECT_EQ(facts.registers, 40);
  EXPECT_EQ(facts.stack_bytes, 16);
  EXPECT_EQ(facts.spill_store_bytes, 20);
  EXPECT_EQ(facts.spill_load_bytes, 24);
  EXPECT_EQ(facts.static_shared_bytes, 1040);
  EXPECT_EQ(parse_ptxas_log(log, "other").static_shared_bytes, 0);
  EXPECT_EQ(parse_ptxas_log(log, "absent").registers, -1);
}

}  // namespace
}  // namespace kw::jit
