// SPDX-License-Identifier: Apache-2.0
// The whole JIT path without a GPU: a Cfg, rendered, compiled by g++ and clang++, cached, loaded
// from memory and launched.
#include "kernelwright/backend/cpu/toolchain_host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "jit/support/toy_unit.hpp"
#include "kernelwright/backend/cpu/host_process.hpp"
#include "kernelwright/jit/plan.hpp"
#include "support/expect_error.hpp"

namespace kw::jit {
namespace {

const std::map<std::string, std::string> kHeaders{
    {"kernelwright/ops/sum/cfg.hpp", R"(
#pragma once
namespace sum {
struct Cfg {
  int factor = 1;
  bool square = false;
};
struct Args {
  const double* x;
  double* y;
  long long n;
};
}
)"},
    {"kernelwright/ops/sum/host_body.hpp", R"(
#pragma once
#include <cmath>)"
                                           "\n#include \"kernelwright/ops/sum/cfg.hpp\"\n"
                                           R"(namespace sum {
template <Cfg kCfg>
void run(const Args& args, const unsigned* grid) {
  double total = 0;
  for (long long i = 0; i < args.n; ++i) total += kCfg.square ? std::pow(args.x[i], 2) : args.x[i];
  *args.y = kCfg.factor * total * grid[0];
}
}
)"}};

struct SumCfg {
  int factor = 1;
  bool square = false;
  static constexpr void visit(auto& self, auto& v) {
    v("factor", self.factor);
    v("square", self.square);
  }
};

struct SumArgs {
  const double* x;
  double* y;
  long long n;
};

Unit sum_unit(const SumCfg& cfg, const std::string& arch = "native") {
  const KernelBody body{Dialect::kHost,
                        "cpu.host.sum",
                        "kernelwright/ops/sum/host_body.hpp",
                        "sum::Cfg",
                        "sum::Args",
                        "sum::run<kCfg>",
                        ""};
  return make_unit(body, cfg, entry_name("sum", {"f64", "x" + std::to_string(cfg.factor)}), arch,
                   {});
}

double run(const CompiledUnit& compiled) {
  const auto module = load_host_module(compiled.entry.image);
  const double x[] = {1, 2, 3};
  double y = 0;
  const SumArgs args{x, &y, 3};
  runtime::LaunchShape shape;
  shape.grid = {10, 1, 1};
  EXPECT_TRUE(
      module->function(compiled.entry.record.entry).launch(shape, &args, sizeof args, nullptr));
  return y;
}

class HostToolchainTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (toolchain_.compiler().empty()) GTEST_SKIP() << "no " << GetParam() << " on this machine";
    options_.cache.directory = directory_.path();
    options_.headers = &headers_;
  }
  test::TemporaryDirectory directory_;
  const HeaderBundle headers_{kHeaders};
  SessionOptions options_;
  HostToolchain toolchain_{{.compiler = GetParam()}};
};

TEST_P(HostToolchainTest, RendersCompilesCachesLoadsAndLaunches) {
  Session session(options_);
  const auto plain = session.compile(toolchain_, sum_unit({.factor = 3}));
  EXPECT_EQ(plain->origin, Origin::kCompiled);
  EXPECT_EQ(run(*plain), 3 * 6 * 10);
  const auto squared = session.compile(toolchain_, sum_unit({.factor = 3, .square = true}));
  EXPECT_EQ(run(*squared), 3 * 14 * 10);  // the same entry name in another object
  const auto warm = Session(options_).compile(toolchain_, sum_unit({.factor = 3}));
  EXPECT_EQ(warm->origin, Origin::kUser);
  EXPECT_EQ(run(*warm), 3 * 6 * 10);
  const auto& read = warm->entry.record.dependencies;
  EXPECT_TRUE(std::any_of(read.begin(), read.end(), [](const Dependency& file) {
    return file.path.find("/cmath") != std::string::npos;
  }));
  for (const Dependency& file : read) EXPECT_EQ(file.path.front(), '/');
}

TEST_P(HostToolchainTest, MakesTheSameBytesInEveryDirectory) {
  SessionOptions bare = options_;
  bare.cache.directory = "";
  const auto first = Session(bare).compile(toolchain_, sum_unit({.factor = 2}));
  const auto second = Session(bare).compile(toolchain_, sum_unit({.factor = 2}));
  EXPECT_TRUE(std::equal(first->entry.image.begin(), first->entry.image.end(),
                         second->entry.image.begin(), second->entry.image.end()));
  const std::string text(reinterpret_cast<const char*>(first->entry.image.data()),
                         first->entry.image.size());
  EXPECT_EQ(text.find("/tmp/kw-host"), std::string::npos);
}

TEST_P(HostToolchainTest, ARefusalIsTheCompilersOwnText) {
  Unit unit = sum_unit({});
  unit.source += "int broken = no_such_name;\n";
  test::expect_error(Code::kInternal,
                     {"no_such_name", "the source is " + directory_.path(), "cpu.host.sum"},
                     [&] { Session(options_).compile(toolchain_, unit); });
}

INSTANTIATE_TEST_SUITE_P(Compilers, HostToolchainTest, testing::Values("g++", "clang++"),
                         [](const auto& param) {
                           return std::string(param.param) == "g++" ? "gcc" : "clang";
                         });

TEST(HostToolchain, ArchitecturesAreFeatureLists) {
  const HostToolchain toolchain;
  const auto flags = [&](const char* arch) { return toolchain.settings(arch).flags; };
  const auto has = [&](const char* arch, const char* flag) {
    const auto list = flags(arch);
    return std::find(list.begin(), list.end(), flag) != list.end();
  };
  EXPECT_TRUE(has("x86-64-v3", "-mavx2"));
  EXPECT_FALSE(has("x86-64-v3", "-mavx512f"));
  EXPECT_FALSE(has("native", "-march=native"));
  EXPECT_TRUE(flags("native") == flags("x86-64") || flags("native") == flags("x86-64-v3") ||
              flags("native") == flags("x86-64-v4"));
  test::expect_error(Code::kUnsupported, {"'x86-64-v5'", "native", "x86-64-v4"},
                     [&] { flags("x86-64-v5"); });
}

TEST(HostToolchain, WithoutACompilerSaysWhatToDo) {
  HostToolchain toolchain({.search = {"/nonexistent"}});
  EXPECT_EQ(toolchain.stamp(), "");
  test::expect_error(Code::kEnvironment, {"g++ or clang++", "/nonexistent", "KW_CXX"},
                     [&] { toolchain.identity(); });
}

TEST(HostToolchain, ACompilerThatHangsIsEnded) {
  const test::TemporaryDirectory directory;
  const std::string script = directory.path() + "/g++";
  std::ofstream(script) << "#!/bin/sh\ncase \"$*\" in *unit.cpp*) sleep 30;; esac\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const HeaderBundle headers(kHeaders);
  SessionOptions options;
  options.headers = &headers;
  HostToolchain toolchain({.compiler = script, .limit = std::chrono::milliseconds{1000}});
  const auto start = std::chrono::steady_clock::now();
  test::expect_error(Code::kEnvironment, {"took longer than 1000 ms"},
                     [&] { Session(options).compile(toolchain, sum_unit({})); });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds{20});
}

TEST(HostModule, RefusesWhatIsNoSharedObject) {
  const std::vector<std::byte> junk(100);
  test::expect_error(Code::kEnvironment, {"image of 100 bytes"}, [&] { load_host_module(junk); });
}

TEST(Process, PassesArgumentsAsTheyAre) {
  const auto result =
      run_process({"/bin/echo", "a b", "$HOME;'\""}, {}, "/", std::chrono::seconds{20});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, "a b $HOME;'\"\n");
  test::expect_error(Code::kEnvironment, {"/nonexistent/program"}, [] {
    run_process({"/nonexistent/program"}, {}, "", std::chrono::seconds{1});
  });
}

}  // namespace
}  // namespace kw::jit
