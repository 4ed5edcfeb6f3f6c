// SPDX-License-Identifier: Apache-2.0
// What the suite does on a device with kernels of its own, on one that is not there: fills, sets of
// buffers, slices of large cases, replays on changed inputs, protocols of bench.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "kernelwright/suite/buffer_sets.hpp"
#include "kernelwright/suite/device_inputs.hpp"
#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/run.hpp"
#include "kernelwright/suite/runner.hpp"
#include "kernelwright/suite/selftest/probe.hpp"
#include "kernelwright/suite/slices.hpp"
#include "suite/support/fake_gpu.hpp"
#include "support/expect_error.hpp"

namespace kw::suite {
namespace {

using test::GraphSabotage;

struct World : test::GpuWorld {
  explicit World(GraphSabotage sabotage = GraphSabotage::kNone,
                 const test::FakeDeviceOptions& device_options = {},
                 double ns = test::FakeDevice::kKernelNs)
      : GpuWorld(device_options) {
    catalog.register_implementation("affine",
                                    test::gpu_affine(device, sabotage, [ns] { return ns; }));
  }
  Case spec(const std::string& text, Fill fill = Fill::kNormal) {
    return {parse_problem(text, catalog), fill, 3};
  }
  CaseResult judge(const std::string& text, double memory_bytes, Mode mode = Mode::kEager) {
    Request request;
    request.mode = mode;
    const Platform here = platform();
    const auto [operation, entry] = catalog.find_implementation("cuda.toy.affine");
    return TargetRunner({operation, entry}, request, here, 3, memory_bytes).run(spec(text));
  }
};

std::vector<std::string> names_of(const std::vector<CheckResult>& checks) {
  std::vector<std::string> names;
  for (const CheckResult& check : checks) names.push_back(check.name);
  return names;
}

TEST(DeviceKernels, FillWithTheBitsOfTheHost) {
  World world;
  for (const char* text :
       {"affine/one x=bf16[5,3,33] gain=bf16[33]",
        "affine/one x=f16[4,8,33]:[400,41,1] gain=f16[33]:[3]",
        "affine/one x=f32[4,8,33]:[33,0,1] gain=f32[33]", "affine/one x=f64[7,64] gain=f64[64]"}) {
    for (const Fill fill : fill_catalogue()) {
      const Case spec = world.spec(text, fill);
      PlacedTensors host(world.device, spec.problem, 1), device(world.device, spec.problem, 1);
      fill_inputs(host, spec.problem, fill, spec.seed, world.catalog);
      fill_inputs_on_device(device, spec, world.catalog, *world.kernels, nullptr);
      for (std::size_t i = 0; i < host.operands().size(); ++i) {
        if (!host.operands()[i].is_read()) continue;
        device[i].download(nullptr);
        EXPECT_EQ(device[i].element_bytes(), host[i].element_bytes())
            << text << ' ' << fill_name(fill) << ' ' << host.operands()[i].name;
      }
    }
  }
}

TEST(DeviceKernels, LeaveToTheHostWhatOverlapsOtherThanByStrideZero) {
  World world;
  std::vector<float> memory(100);
  const std::int64_t sizes[] = {4, 8}, strides[] = {4, 1};
  EXPECT_FALSE(world.kernels->fill(TensorView(memory.data(), DType::kF32, sizes, strides),
                                   {Fill::kNormal, 1, "x", 8, 0}, nullptr));
  EXPECT_EQ(memory[0], 0.0F);
}

TEST(DeviceKernels, CompareWholeWordsOnly) {
  World world;
  const runtime::Buffer a(world.device, 64), b(world.device, 64);
  EXPECT_FALSE(world.kernels->take_difference(nullptr));
  world.kernels->compare(a.data(), b.data(), 64, nullptr);
  EXPECT_FALSE(world.kernels->take_difference(nullptr));
  b.data()[63] = std::byte{1};
  world.kernels->compare(a.data(), b.data(), 64, nullptr);
  EXPECT_TRUE(world.kernels->take_difference(nullptr));
  EXPECT_FALSE(world.kernels->take_difference(nullptr));
  test::expect_error(Code::kInternal, {"aligned to 8"},
                     [&] { world.kernels->compare(a.data(), b.data() + 4, 8, nullptr); });
}

TEST(BufferSets, AreFilledOnceAndComparedOnTheDevice) {
  World world;
  const Case spec = world.spec("affine/one x=bf16[9,33] gain=bf16[33]");
  BufferSets sets(spec, 3, world.platform());
  const auto& first = *static_cast<const AffineArgs*>(sets.arguments(0).data());
  const auto& last = *static_cast<const AffineArgs*>(sets.arguments(2).data());
  EXPECT_EQ(read_elements(first.x), read_elements(last.x));
  EXPECT_NE(first.x.data, last.x.data);
  EXPECT_TRUE(sets.outputs_agree());
  static_cast<std::uint16_t*>(last.y.data)[5] = 7;
  EXPECT_FALSE(sets.outputs_agree());
}

TEST(Slices, InputsAreThoseOfTheWhole) {
  World world;
  for (const Fill fill : fill_catalogue()) {
    const Case spec = world.spec("affine/one x=bf16[40,3,16] gain=bf16[16]", fill);
    ASSERT_EQ(why_whole(spec.problem, world.catalog), "");
    PlacedTensors whole(world.device, spec.problem, 1);
    fill_inputs(whole, spec.problem, fill, spec.seed, world.catalog);
    const auto expected = read_inputs(whole);
    const std::int64_t slices[] = {0, 20, 39};
    const auto some = slice_inputs(spec, slices, world.catalog);
    EXPECT_EQ(some[1], expected[1]);
    for (std::size_t s = 0; s < 3; ++s) {
      for (std::size_t i = 0; i < 48; ++i) {
        const double want = expected[0][static_cast<std::size_t>(slices[s]) * 48 + i];
        const double got = some[0][s * 48 + i];
        EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << fill_name(fill);
      }
    }
  }
}

TEST(Slices, SayWhyACaseNeedsToBeWhole) {
  World world;
  EXPECT_EQ(why_whole(world.spec("affine/one x=f32[64] gain=f32[64]").problem, world.catalog),
            "it has no batch dimension");
  EXPECT_EQ(
      why_whole(world.spec("affine/one x=f32[8,64]:[0,1] gain=f32[64]").problem, world.catalog),
      "elements of 'x' share memory");
  EXPECT_EQ(why_whole(world
                          .spec("affine_backward/one dy=f32[8,64] x=f32[8,64] gain=f32[64] "
                                "total=f32[64]")
                          .problem,
                      world.catalog),
            "the saved input 'total' depends on all slices");
}

constexpr const char* kLarge = "affine/one x=f32[4000,64] gain=f32[64] want_total=true";

TEST(Slices, JudgeWhatTheHostCannotHold) {
  World world;
  const CaseResult result = world.judge(kLarge, 1e6);
  EXPECT_EQ(result.status, CaseStatus::kPassed) << result.message;
  EXPECT_EQ(names_of(result.checks),
            (std::vector<std::string>{"prefix:memory", "prefix:oracle:y", "prefix:oracle:total",
                                      "prefix:trust", "prefix:repeat", "prefix:empty",
                                      "unjudged:total", "oracle:y", "trust", "slices", "repeat"}));
  EXPECT_GT(result.trust, 100);
}

TEST(Slices, FindAnErrorThatASmallProblemDoesNotHave) {
  World world(GraphSabotage::kWrongFarSlice);
  EXPECT_EQ(world.judge("affine/one x=f32[150,64] gain=f32[64]", 1e9).status, CaseStatus::kPassed);
  const CaseResult result = world.judge(kLarge, 1e6);
  EXPECT_EQ(result.status, CaseStatus::kFailed);
  EXPECT_EQ(result.reason, Reason::kNumericMismatch) << result.message;
}

TEST(Slices, WithoutKernelsTheCaseIsSkippedWithTheReason) {
  World world;
  world.kernels = nullptr;
  const CaseResult result = world.judge(kLarge, 1e6);
  EXPECT_EQ(result.status, CaseStatus::kSkipped);
  EXPECT_NE(result.message.find("no kernels for slices"), std::string::npos) << result.message;
}

TEST(Replay, FollowsInputsThatChangeInPlace) {
  World world;
  world.device.reset_calls();
  const CaseResult result = world.judge("affine/one x=f32[20,64] gain=f32[64]", 1e9, Mode::kGraph);
  EXPECT_EQ(result.status, CaseStatus::kPassed) << result.message;
  const std::vector<std::string> names = names_of(result.checks);
  EXPECT_NE(std::find(names.begin(), names.end(), "replay"), names.end());
  // Every call was captured and ran as a graph: two poisons, one repeat, the empty one; and a
  // replay.
  EXPECT_EQ(world.device.calls().captures, 4);
  EXPECT_EQ(world.device.calls().graph_launches, 5);
}

TEST(Replay, CatchesGraphsThatKeepWhatTheyCaptured) {
  for (const GraphSabotage sabotage : {GraphSabotage::kKeepsValues, GraphSabotage::kRunsOnce}) {
    World world(sabotage);
    EXPECT_EQ(world.judge("affine/one x=f32[20,64] gain=f32[64]", 1e9).status, CaseStatus::kPassed);
    const CaseResult result =
        world.judge("affine/one x=f32[20,64] gain=f32[64]", 1e9, Mode::kGraph);
    EXPECT_EQ(result.status, CaseStatus::kFailed);
    EXPECT_EQ(result.reason, Reason::kStaleReplay) << result.message;
  }
}

TEST(BenchOnADevice, TimesGraphsEagerCallsAndTheHost) {
  World world;
  BenchRequest request;
  request.implementation = "cuda.toy.affine";
  request.problems = {"affine/one x=f32[1024,128] gain=f32[128]"};
  request.protocols = {Protocol::kGraph,       Protocol::kDeviceCold, Protocol::kEager,
                       Protocol::kHostEnqueue, Protocol::kWallSync,   Protocol::kCall};
  request.warmup = 0;
  request.iterations = 1;
  const BenchReport report = run_bench(request, world.platform());
  ASSERT_EQ(report.rows.size(), 1U);
  const BenchRow& row = report.rows[0];
  EXPECT_EQ(row.numerics.status, CaseStatus::kPassed) << row.numerics.message;
  std::vector<std::string> protocols;
  for (const Timing& timing : row.timings) protocols.push_back(timing.protocol);
  EXPECT_EQ(protocols, (std::vector<std::string>{"graph_cold", "graph_hot", "device_cold",
                                                 "eager_cold", "host_enqueue", "raw_launch",
                                                 "over_raw_launch", "wall_sync", "call"}));
  // The empty kernel takes as long as the call here.
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(row.timings[i].nanoseconds.median, test::FakeDevice::kKernelNs);
    EXPECT_EQ(row.timings[i].floor_ns, test::FakeDevice::kKernelNs);
    EXPECT_TRUE(row.timings[i].has("below_floor"));
  }
  EXPECT_GT(row.timings[4].nanoseconds.median, 0);
  EXPECT_FALSE(row.timings[4].has("below_floor"));
  EXPECT_EQ(row.limiter, "latency");
  // Every set of the rotation in every replay: at least four caches.
  EXPECT_GE(row.timings[0].working_set_bytes, 4.0 * (60 << 20));
  EXPECT_EQ(row.timings[0].calls_per_sample %
                static_cast<int>(row.timings[0].working_set_bytes / row.bytes),
            0);
  EXPECT_EQ(row.timings[1].working_set_bytes, row.bytes);
  EXPECT_EQ(world.device.calls().persisting_resets, 1);
}

// 33 kB at 10 GB/s: 3.3 us.
BenchReport bench_at(double ns, GraphSabotage sabotage = GraphSabotage::kNone) {
  test::FakeDeviceOptions options;
  options.cache_bytes = 1 << 16;
  options.gigabytes_per_second = 10;
  options.memory_bytes = std::int64_t{1} << 26;
  World world(sabotage, options, ns);
  BenchRequest request;
  request.implementation = "cuda.toy.affine";
  request.problems = {"affine/one x=f32[64,64] gain=f32[64]"};
  request.protocols = {Protocol::kGraph};
  request.warmup = 0;
  request.iterations = 3;
  return run_bench(request, world.platform());
}

TEST(BenchOnADevice, RooflineColumnsFollowFromTheMeasuredRoof) {
  const BenchReport report = bench_at(12000);
  const BenchRow& row = report.rows.at(0);
  EXPECT_NEAR(report.roof.gigabytes_per_second, 10, 1e-6);
  EXPECT_NEAR(report.roof.write_gigabytes_per_second, 10, 1e-6);
  EXPECT_EQ(row.limiter, "memory");
  EXPECT_DOUBLE_EQ(row.gigabytes_per_second, row.bytes / 12000);
  EXPECT_NEAR(row.roof_share, row.bytes / 120000, 1e-9);
  EXPECT_NEAR(row.roof_us, row.bytes * 1e-4, 1e-9);
  EXPECT_DOUBLE_EQ(row.speed_of_light, row.roof_us / 12);
  EXPECT_DOUBLE_EQ(row.intensity, row.flops / row.bytes);
  EXPECT_TRUE(row.flags.empty()) << row.flags[0];
  EXPECT_EQ(report.exit_code(), 0);
}

TEST(BenchOnADevice, FasterThanEveryRoofFails) {
  const BenchReport report = bench_at(1);
  const BenchRow& row = report.rows.at(0);
  EXPECT_EQ(row.numerics.status, CaseStatus::kFailed);
  EXPECT_EQ(row.numerics.reason, Reason::kImplausibleSpeed);
  EXPECT_NE(row.numerics.message.find("GB/s"), std::string::npos);
  EXPECT_FALSE(row.timings.empty());
  EXPECT_EQ(report.exit_code(), 1);
}

TEST(BenchOnADevice, AnAnswerFromMemoryIsFoundAfterTiming) {
  const BenchReport report = bench_at(12000, GraphSabotage::kRemembers);
  const BenchRow& row = report.rows.at(0);
  EXPECT_EQ(row.numerics.reason, Reason::kStaleReplay) << row.numerics.message;
  EXPECT_TRUE(row.timings.empty());
  EXPECT_EQ(report.exit_code(), 1);
}

}  // namespace
}  // namespace kw::suite
