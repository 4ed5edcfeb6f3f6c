// SPDX-License-Identifier: Apache-2.0
// What a slot costs: a hit with an empty launch, the look at a call alone, and a miss.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <optional>

#include "kernelwright/core/call_pattern.hpp"
#include "kernelwright/core/slot.hpp"

namespace kw {
namespace {

// Shaped like a row-wise norm: two inputs, one output, an optional output, one dynamic scalar.
struct NormArgs {
  TensorView x, weight, y, rstd;
  double eps = 1e-6;

  void visit(Recorder& v) {
    v.symbol("C", Variability::kStatic, 1, 1 << 20, "columns");
    v.input("x", x, "[*, C]", "T: bf16|f32", "rows");
    v.input("weight", weight, "[C]", "W: T|f32", "scale");
    v.output("y", y, "[*, C]", "T", "rows");
    v.output("rstd", rstd, "[*]", "f32", "saved").saved();
    v.scalar("eps", eps, "small").range(0, 1);
  }
  static const Contract& contract() {
    static const Contract kContract = [] {
      ContractInfo info;
      info.operation = "norm_like";
      info.variants = {{"standard", "", ToleranceClass::kOneRounding}};
      return make_contract<NormArgs>(info);
    }();
    return kContract;
  }
};

Implementation empty_implementation() {
  Implementation result;
  result.info.name = "cpu.empty.norm_like";
  result.info.solution = "empty";
  result.info.description = "an empty launch";
  ImplementationFunctions& f = result.functions;
  f.supports = [](void*, const Problem&, const Hardware&) { return std::optional<Rejection>(); };
  f.workspace = [](void*, const Problem&) { return WorkspaceSize{}; };
  f.choose = [](void*, const Problem&, const Hardware&, const CfgPins&) {
    return Specialization{"{}", nullptr};
  };
  f.prepare = [](void*, PrepareRequest&) -> void* { return nullptr; };
  f.launch = [](const void*, const void* args, const LaunchFrame& frame) noexcept {
    benchmark::DoNotOptimize(args);
    benchmark::DoNotOptimize(frame.stream);
    return Status{};
  };
  f.destroy = [](void*) noexcept {};
  f.describe = [](const void*) { return PlanFacts{}; };
  return result;
}

class QuietPort final : public DevicePort {
 public:
  const Hardware& hardware() const noexcept override { return hardware_; }
  bool is_capturing(void*) const noexcept override { return false; }
  void reserve_workspace(void*, std::int64_t, std::int64_t) override {}
  void* workspace(void*, std::int64_t, std::int64_t) noexcept override { return nullptr; }

 private:
  Hardware hardware_;
};

struct Bench {
  Bench() {
    catalog.add({&NormArgs::contract(), {empty_implementation()}});
    context = std::make_unique<Context>(catalog, Settings{}, port);
    context->bind(slots);
  }
  ~Bench() { slots.unbind(); }

  Catalog catalog;
  QuietPort port;
  std::unique_ptr<Context> context;
  OpSlot slot{"norm_like", "standard"};
  SlotSet slots{&slot};
};

std::array<float, 1 << 16> memory;

NormArgs norm_args(std::int64_t rows, bool pitched) {
  NormArgs args;
  args.x = TensorView(memory.data(), DType::kF32, {rows, 256});
  if (pitched) args.x.strides[0] = 512;
  args.weight = TensorView(memory.data() + 60000, DType::kF32, {256});
  args.y = TensorView(memory.data() + 32768, DType::kF32, {rows, 256});
  return args;
}

void slot_hit(benchmark::State& state) {
  Bench bench;
  const NormArgs args = norm_args(16, state.range(0) != 0);
  for (auto _ : state) benchmark::DoNotOptimize(bench.slot.try_call(args));
}
BENCHMARK(slot_hit)->ArgName("pitched")->Arg(0)->Arg(1);

// The fourth of the recent entries, in turn with the other three.
void slot_hit_of_four(benchmark::State& state) {
  Bench bench;
  const std::array<NormArgs, 4> args{norm_args(1, false), norm_args(2, false), norm_args(3, false),
                                     norm_args(4, false)};
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(bench.slot.try_call(args[i++ % 4]));
}
BENCHMARK(slot_hit_of_four);

// Five shapes in turn: found in the binding's map instead.
void slot_map_lookup(benchmark::State& state) {
  Bench bench;
  const std::array<NormArgs, 5> args{norm_args(1, false), norm_args(2, false), norm_args(3, false),
                                     norm_args(4, false), norm_args(5, false)};
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(bench.slot.try_call(args[i++ % 5]));
}
BENCHMARK(slot_map_lookup);

void inspect_call_alone(benchmark::State& state) {
  const NormArgs args = norm_args(16, state.range(0) != 0);
  const Contract& contract = NormArgs::contract();
  Key key;
  for (auto _ : state) {
    benchmark::DoNotOptimize(inspect_call(contract, &args, 0, key));
    benchmark::DoNotOptimize(key);
  }
}
BENCHMARK(inspect_call_alone)->ArgName("pitched")->Arg(0)->Arg(1);

void pattern_alone(benchmark::State& state) {
  const NormArgs args = norm_args(16, state.range(0) != 0);
  const CallPattern pattern(NormArgs::contract(), &args, 0);
  for (auto _ : state) benchmark::DoNotOptimize(pattern.matches(&args, 0));
}
BENCHMARK(pattern_alone)->ArgName("pitched")->Arg(0)->Arg(1);

// A new problem of a known plan each time.
void slot_miss(benchmark::State& state) {
  Bench bench;
  NormArgs args = norm_args(16, false);
  args.x.strides[0] = args.y.strides[0] = 256;
  std::int64_t rows = 0;
  for (auto _ : state) {
    args.x.sizes[0] = args.y.sizes[0] = rows++ % 100;
    args.eps = 1e-6;
    args.rstd = {};
    if (rows % 100 == 0) {
      state.PauseTiming();
      bench.slots.unbind();
      bench.context = std::make_unique<Context>(bench.catalog, Settings{}, bench.port);
      bench.context->bind(bench.slots);
      state.ResumeTiming();
    }
    benchmark::DoNotOptimize(bench.slot.try_call(args));
  }
}
BENCHMARK(slot_miss)->Iterations(20000);

}  // namespace
}  // namespace kw
