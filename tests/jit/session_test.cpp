// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "jit/support/fake_toolchain.hpp"
#include "jit/support/toy_unit.hpp"
#include "kernelwright/jit/errors.hpp"
#include "kernelwright/jit/files.hpp"
#include "kernelwright/jit/plan.hpp"
#include "support/expect_error.hpp"

namespace kw::jit {
namespace {

using test::FakeDevice;
using test::FakeToolchain;
using test::toy_unit;

class SessionTest : public testing::Test {
 protected:
  SessionOptions options() const {
    SessionOptions options;
    options.cache.directory = directory_.path() + "/cache";
    options.headers = &headers_;
    return options;
  }
  FakeDevice& device() {
    for (int rows = 0; rows < 64; ++rows) {
      device_.define_kernel(
          toy_unit({.rows = rows}).entry,
          [this](const runtime::LaunchShape& shape, const void*) { launched_ = shape; });
    }
    return device_;
  }
  static std::string fact(const Plan& plan, const std::string& name) {
    for (const auto& entry : plan.info()) {
      if (entry.first == name) return entry.second;
    }
    return "no such fact";
  }

  test::TemporaryDirectory directory_;
  const HeaderBundle headers_{test::toy_headers()};
  FakeDevice device_;
  FakeToolchain toolchain_;
  runtime::LaunchShape launched_;
};

TEST_F(SessionTest, WhoRefusesIsTold) {
  Session session(options());
  try {
    session.prepare(toolchain_, toy_unit({.rows = 7}), device_);  // which defines no kernel
    ADD_FAILURE() << "loaded";
  } catch (const LoadError& error) {
    EXPECT_EQ(error.code(), Code::kEnvironment);
    const std::string text = error.what();
    EXPECT_NE(text.find("cannot be loaded on"), std::string::npos) << text;
    EXPECT_NE(text.find("undefined entry"), std::string::npos) << text;
    EXPECT_EQ(text.rfind(toy_unit({.rows = 7}).entry, 0), 0U) << text;
  }
  toolchain_.refusal = "line 3: no";
  EXPECT_THROW(session.prepare(toolchain_, toy_unit({.rows = 8}), device()), CompileError);
}

TEST_F(SessionTest, CompilesLoadsAndLaunches) {
  Session session(options());
  const auto plan = session.prepare(toolchain_, toy_unit({.rows = 7}), device());
  EXPECT_EQ(plan->origin(), Origin::kCompiled);
  EXPECT_TRUE(plan->launch({5, 1, 1}, nullptr, 0, nullptr));
  EXPECT_EQ(launched_.grid.x, 5U);
  EXPECT_EQ(launched_.block.x, 128U);
  EXPECT_EQ(launched_.shared_bytes, 1024U);
}

TEST_F(SessionTest, InfoReadsBackEveryDecision) {
  Session session(options());
  const Unit unit = toy_unit({.rows = 7});
  const auto plan = session.prepare(toolchain_, unit, device());
  EXPECT_EQ(fact(*plan, "cfg"), "{.rows = 7}");
  EXPECT_EQ(fact(*plan, "cfg.rows"), "7");
  EXPECT_EQ(fact(*plan, "cfg.tile.order"), "row");
  EXPECT_EQ(fact(*plan, "entry"), "kw_toy_bf16_r7");
  EXPECT_EQ(fact(*plan, "arch"), "sm_90a");
  EXPECT_EQ(fact(*plan, "block"), "128x1x1");
  EXPECT_EQ(fact(*plan, "shared_bytes"), "1024");
  EXPECT_EQ(fact(*plan, "registers"), "24");
  EXPECT_EQ(fact(*plan, "spill_store_bytes"), "0");
  EXPECT_EQ(fact(*plan, "toolchain"), "fake 1");
  EXPECT_EQ(fact(*plan, "origin"), "compiled");
  const Digest source = session.source_digest(toolchain_, unit);
  EXPECT_EQ(fact(*plan, "source_digest"), hex(source));
  EXPECT_EQ(fact(*plan, "key"), hex(binary_digest(source, sha256("fake 1"))));
}

TEST_F(SessionTest, AWarmProcessNeitherCompilesNorHashesTheCompiler) {
  const Unit unit = toy_unit();
  Session(options()).prepare(toolchain_, unit, device());
  EXPECT_EQ(toolchain_.compiles, 1);
  EXPECT_EQ(toolchain_.identities, 1);
  Session warm(options());
  const auto plan = warm.prepare(toolchain_, unit, device());
  EXPECT_EQ(plan->origin(), Origin::kUser);
  EXPECT_EQ(toolchain_.compiles, 1);
  EXPECT_EQ(toolchain_.identities, 1);
  EXPECT_EQ(warm.counters().cache.hits[2], 1);
  // Nor for another kernel: the identity itself is remembered.
  warm.prepare(toolchain_, toy_unit({.rows = 9}), device());
  EXPECT_EQ(toolchain_.compiles, 2);
  EXPECT_EQ(toolchain_.identities, 1);
}

TEST_F(SessionTest, AReinstalledCompilerIsKnownByItsBytes) {
  Session(options()).prepare(toolchain_, toy_unit(), device());
  toolchain_.inodes = "b";
  const auto same = Session(options()).prepare(toolchain_, toy_unit(), device());
  EXPECT_EQ(same->origin(), Origin::kUser);
  EXPECT_EQ(toolchain_.identities, 2);
  toolchain_.build = "2";
  const auto other = Session(options()).prepare(toolchain_, toy_unit(), device());
  EXPECT_EQ(other->origin(), Origin::kCompiled);
  EXPECT_NE(other->compiled().entry.record.key, same->compiled().entry.record.key);
  toolchain_.build = "1";
  EXPECT_EQ(Session(options()).prepare(toolchain_, toy_unit(), device())->origin(), Origin::kUser);
  EXPECT_EQ(toolchain_.compiles, 2);
}

TEST_F(SessionTest, WithoutACompilerTheCacheStillServes) {
  Session(options()).prepare(toolchain_, toy_unit(), device());
  toolchain_.build = "";
  Session session(options());
  EXPECT_EQ(session.prepare(toolchain_, toy_unit(), device())->origin(), Origin::kUser);
  test::expect_error(Code::kEnvironment, {"no fake compiler", "install"},
                     [&] { session.prepare(toolchain_, toy_unit({.rows = 9}), device()); });
}

TEST_F(SessionTest, KeepsOnePlanPerDeviceAndOneBinaryForAll) {
  Session session(options());
  const auto first = session.prepare(toolchain_, toy_unit(), device());
  EXPECT_EQ(session.prepare(toolchain_, toy_unit(), device()), first);
  FakeDevice second({.index = 1});
  second.define_kernel(toy_unit().entry, [](const runtime::LaunchShape&, const void*) {});
  const auto there = session.prepare(toolchain_, toy_unit(), second);
  EXPECT_NE(there, first);
  EXPECT_EQ(there->origin(), Origin::kMemory);
  EXPECT_EQ(second.calls().modules, 1);
  EXPECT_EQ(device_.calls().modules, 1);
  EXPECT_EQ(toolchain_.compiles, 1);
  EXPECT_EQ(session.counters().memory_hits, 2);
}

TEST_F(SessionTest, ThreadsThatWantOneUnitCompileItOnce) {
  toolchain_.delay = std::chrono::milliseconds{30};
  Session session(options());
  FakeDevice& shared = device();
  std::vector<std::shared_ptr<const Plan>> plans(8);
  {
    std::vector<std::jthread> threads;
    for (auto& plan : plans) {
      threads.emplace_back([&] { plan = session.prepare(toolchain_, toy_unit(), shared); });
    }
  }
  EXPECT_EQ(toolchain_.compiles, 1);
  EXPECT_EQ(std::count(plans.begin(), plans.end(), plans[0]), 8);
}

TEST_F(SessionTest, SessionsThatShareACacheCompileOnce) {
  toolchain_.delay = std::chrono::milliseconds{30};
  FakeDevice& shared = device();
  {
    std::vector<std::jthread> processes;
    for (int i = 0; i < 6; ++i) {
      processes.emplace_back([&] { Session(options()).prepare(toolchain_, toy_unit(), shared); });
    }
  }
  EXPECT_EQ(toolchain_.compiles, 1);
}

TEST_F(SessionTest, WorksWithoutAnyCache) {
  SessionOptions bare = options();
  bare.cache.directory = "";
  EXPECT_EQ(Session(bare).prepare(toolchain_, toy_unit(), device())->origin(), Origin::kCompiled);
  EXPECT_EQ(Session(bare).prepare(toolchain_, toy_unit(), device())->origin(), Origin::kCompiled);
  EXPECT_EQ(toolchain_.compiles, 2);
}

TEST_F(SessionTest, PreparesManyAtOnceAndReportsEachFailure) {
  std::vector<Unit> units;
  for (int rows = 0; rows < 12; ++rows) units.push_back(toy_unit({.rows = rows}));
  units[5].source = "#include \"nowhere.hpp\"\n";
  toolchain_.delay = std::chrono::milliseconds{20};
  Session session(options());
  const auto start = std::chrono::steady_clock::now();
  const auto outcomes = session.prepare_all(toolchain_, units, device(), 12);
  const auto took = std::chrono::steady_clock::now() - start;
  ASSERT_EQ(outcomes.size(), 12U);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    EXPECT_EQ(outcomes[i].plan == nullptr, i == 5);
    if (outcomes[i].plan) {
      EXPECT_EQ(outcomes[i].plan->unit().entry, units[i].entry);
    }
  }
  test::expect_error(Code::kNotFound, {"nowhere.hpp"},
                     [&] { std::rethrow_exception(outcomes[5].error); });
  EXPECT_EQ(toolchain_.compiles, 11);
  EXPECT_LT(took, 11 * toolchain_.delay + std::chrono::seconds{2});
}

TEST_F(SessionTest, KnowsThePlansOfADeviceWhileTheyAreHeld) {
  Session session(options());
  auto first = session.prepare(toolchain_, toy_unit({.rows = 1}), device());
  const auto second = session.prepare(toolchain_, toy_unit({.rows = 2}), device());
  FakeDevice other;
  other.define_kernel(toy_unit({.rows = 1}).entry, [](const auto&, const void*) {});
  const auto elsewhere = session.prepare(toolchain_, toy_unit({.rows = 1}), other);
  EXPECT_EQ(session.plans_on(device_).size(), 2U);
  EXPECT_EQ(session.plans_on(other), (std::vector{elsewhere}));
  first.reset();
  EXPECT_EQ(session.plans_on(device_), (std::vector{second}));
}

TEST_F(SessionTest, ARefusedSourceIsKeptAndNamed) {
  toolchain_.refusal = "unit.cu(3): error: no such thing";
  Session session(options());
  try {
    session.prepare(toolchain_, toy_unit({.rows = 7}), device());
    FAIL() << "compiled";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), Code::kInternal);
    for (const char* word : {"fake 1", "cuda.jit.toy", "{.rows = 7}", "sm_90a", "no such thing"}) {
      EXPECT_NE(text.find(word), std::string::npos) << text;
    }
    const std::size_t begin = text.find("the source is ") + 14;
    const auto kept = read_text(text.substr(begin, text.find('\n') - begin));
    ASSERT_TRUE(kept) << text;
    EXPECT_EQ(kept->find(toy_unit({.rows = 7}).source), 0U);
  }
  EXPECT_EQ(session.counters().failed, 1);
  toolchain_.refusal = "";  // a failure is not remembered
  EXPECT_TRUE(session.prepare(toolchain_, toy_unit({.rows = 7}), device()));
}

TEST_F(SessionTest, MayBeForbiddenToCompile) {
  SessionOptions strict = options();
  strict.may_compile = false;
  test::expect_error(Code::kUnsupported, {"cuda.jit.toy", "may not compile", "pack"},
                     [&] { Session(strict).prepare(toolchain_, toy_unit(), device()); });
  Session(options()).prepare(toolchain_, toy_unit(), device());
  EXPECT_EQ(Session(strict).prepare(toolchain_, toy_unit(), device())->origin(), Origin::kUser);
}

TEST_F(SessionTest, APackServesWithoutCompilerOrIndex) {
  Session builder(options());
  const auto built = builder.compile(toolchain_, toy_unit());
  const std::string pack = directory_.path() + "/pack";
  add_to_pack(pack, built->entry);
  SessionOptions packed = options();
  packed.cache.directory = "";
  packed.cache.packs = {pack};
  toolchain_.build = "";
  EXPECT_EQ(Session(packed).prepare(toolchain_, toy_unit(), device())->origin(), Origin::kPack);
}

TEST_F(SessionTest, APackThatCannotBeLoadedHereIsPassedOverWithTheReason) {
  toolchain_.build = "2";
  const auto built = Session(options()).compile(toolchain_, toy_unit());
  const std::string new_pack = directory_.path() + "/new", old_pack = directory_.path() + "/old";
  add_to_pack(new_pack, built->entry);
  SessionOptions packed = options();
  packed.cache.directory = "";
  packed.cache.packs = {new_pack};
  toolchain_.build = "1";
  toolchain_.objects_to = "fake 2";
  const auto plan = Session(packed).prepare(toolchain_, toy_unit(), device());
  EXPECT_EQ(plan->origin(), Origin::kCompiled);
  EXPECT_EQ(plan->compiled().entry.record.toolchain, "fake 1");
  const std::string why = fact(*plan, "passed_over");
  EXPECT_EQ(why.rfind(new_pack, 0), 0U) << why;
  EXPECT_NE(why.find("is passed over: made by fake 2, too new"), std::string::npos) << why;

  // A later pack serves, and nothing counts as found before it.
  add_to_pack(old_pack, plan->compiled().entry);
  packed.cache.packs = {new_pack, old_pack};
  Session both(packed);
  EXPECT_EQ(both.prepare(toolchain_, toy_unit(), device())->origin(), Origin::kPack);
  EXPECT_EQ(both.counters().cache.hits[0], 1);
  EXPECT_EQ(both.counters().cache.rejected, 0);

  // Where nothing else serves, the error says why the pack does not.
  packed.cache.packs = {new_pack};
  toolchain_.build = "";
  test::expect_error(Code::kEnvironment, {"no fake compiler", new_pack, "made by fake 2, too new"},
                     [&] { Session(packed).prepare(toolchain_, toy_unit(), device()); });
}

TEST_F(SessionTest, ExtraFlagsAndHeadersMakeAnotherKernel) {
  const Digest plain = Session(options()).source_digest(toolchain_, toy_unit());
  SessionOptions flagged = options();
  flagged.flags = {"-lineinfo"};
  EXPECT_NE(Session(flagged).source_digest(toolchain_, toy_unit()), plain);
  auto texts = test::toy_headers();
  texts["kernelwright/ops/other/cfg.hpp"] += " ";
  const HeaderBundle unrelated(texts);
  texts["kernelwright/kit/cuda/types.cuh"] += " ";
  const HeaderBundle touched(texts);
  SessionOptions with = options();
  with.headers = &unrelated;
  EXPECT_EQ(Session(with).source_digest(toolchain_, toy_unit()), plain);
  with.headers = &touched;
  EXPECT_NE(Session(with).source_digest(toolchain_, toy_unit()), plain);
}

TEST_F(SessionTest, AChangedSystemHeaderIsAMissAndChangedBackAHit) {
  const std::string header = directory_.path() + "/system.h";
  const auto write = [&](const std::string& text) {
    std::ofstream(header) << text;
    toolchain_.dependencies = {{header, sha256(text)}};
  };
  toolchain_.with_dependencies = true;
  write("1");
  const auto first = Session(options()).prepare(toolchain_, toy_unit(), device());
  EXPECT_EQ(Session(options()).prepare(toolchain_, toy_unit(), device())->origin(), Origin::kUser);
  write("2");
  const auto second = Session(options()).prepare(toolchain_, toy_unit(), device());
  EXPECT_EQ(second->origin(), Origin::kCompiled);
  EXPECT_NE(second->compiled().entry.record.key, first->compiled().entry.record.key);
  write("1");
  EXPECT_EQ(Session(options()).prepare(toolchain_, toy_unit(), device())->origin(), Origin::kUser);
  EXPECT_EQ(toolchain_.compiles, 2);
}

TEST_F(SessionTest, AHeaderThatChangesDuringCompilationIsNotBlessed) {
  const std::string header = directory_.path() + "/system.h";
  std::ofstream(header) << "edited";
  toolchain_.with_dependencies = true;
  toolchain_.dependencies = {{header, sha256("as the compiler read it")}};
  Session session(options());
  EXPECT_EQ(session.prepare(toolchain_, toy_unit(), device())->origin(), Origin::kCompiled);
  EXPECT_EQ(session.counters().cache.published, 0);
}

}  // namespace
}  // namespace kw::jit
