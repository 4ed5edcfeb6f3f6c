// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/selftest/probe.hpp"

#include "kernelwright/suite/guarded_tensor.hpp"
#include "kernelwright/suite/selftest/probe_kernels.hpp"

namespace kw::suite {
namespace {

static_assert(kit::kNoCanary == kFinitePoison, "a byte that no canary is");

std::vector<Variant> affine_variants() {
  return {{"one", "one rounding", ToleranceClass::kOneRounding},
          {"two", "rounds the product", ToleranceClass::kTwoRoundings}};
}

ContractInfo probe_info(const char* operation, std::vector<Variant> variants,
                        const char* backward = "") {
  ContractInfo info;
  info.operation = operation;
  info.summary = "for the self-test";
  info.variants = std::move(variants);
  info.backward = backward;
  return info;
}

template <typename Args>
void add(Catalog& catalog, kit::ProbeOperation operation, Sabotage sabotage, DeviceKind device,
         const ProbeToolchain& toolchain) {
  catalog.add({&Args::contract(),
               {make_probe<Args>(operation, false, sabotage, device, toolchain),
                make_probe<Args>(operation, true, Sabotage::kNone, device, {})}});
}

}  // namespace

void AffineArgs::visit(Recorder& v) {
  v.symbol("C", Variability::kStatic, 1, 4096, "columns");
  v.input("x", x, "[*, C]", "T: bf16|f16|f32|f64", "rows").differentiable();
  v.input("gain", gain, "[C]", "T", "factor of each column").differentiable();
  v.output("y", y, "[*, C]", "T", "x * gain + bias");
  v.output("total", total, "[C]", "acc(T)", "sum of the rows of x").saved();
  v.scalar("bias", bias, "added to every element").range(-2, 2);
}

const Contract& AffineArgs::contract() {
  static const Contract value =
      make_contract<AffineArgs>(probe_info("affine", affine_variants(), "affine_backward"));
  return value;
}

void AffineBackwardArgs::visit(Recorder& v) {
  v.symbol("C", Variability::kStatic, 1, 4096, "columns");
  v.input("dy", dy, "[*, C]", "T: bf16|f16|f32|f64", "gradient of y");
  v.input("x", x, "[*, C]", "T", "rows");
  v.input("gain", gain, "[C]", "T", "factor of each column");
  v.input("total", total, "[C]", "acc(T)", "as saved by the forward");
  v.output("dx", dx, "[*, C]", "T", "gradient of x");
  v.output("dgain", dgain, "[C]", "T", "gradient of gain");
  v.scalar("bias", bias, "as in the forward").range(-2, 2);
}

const Contract& AffineBackwardArgs::contract() {
  static const Contract value =
      make_contract<AffineBackwardArgs>(probe_info("affine_backward", affine_variants()));
  return value;
}

void GatherArgs::visit(Recorder& v) {
  v.symbol("R", Variability::kDynamic, 2, 1 << 20, "rows");
  v.symbol("C", Variability::kStatic, 1, 4096, "columns");
  v.input("x", x, "[R, C]", "T: bf16|f16|f32|f64", "rows");
  v.input("index", index, "[R]", "i32", "row of x for each row of y").filled_with("permutation");
  v.output("y", y, "[R, C]", "T", "rows in the order of index");
}

const Contract& GatherArgs::contract() {
  static const Contract value = make_contract<GatherArgs>(
      probe_info("gather", {{"rows", "moves rows", ToleranceClass::kMovement}}));
  return value;
}

void UpdateArgs::visit(Recorder& v) {
  v.symbol("C", Variability::kStatic, 1, 4096, "columns");
  v.mutated("state", state, "[*, C]", "T: bf16|f16|f32|f64", "what is kept");
  v.input("x", x, "[*, C]", "T", "what is added to it");
}

const Contract& UpdateArgs::contract() {
  static const Contract value = make_contract<UpdateArgs>(
      probe_info("update", {{"sum", "adds", ToleranceClass::kOneRounding}}));
  return value;
}

Implementation probe_affine(Sabotage sabotage, DeviceKind device) {
  return make_probe<AffineArgs>(kit::ProbeOperation::kAffine, false, sabotage, device, {});
}

void add_probes(Catalog& catalog, Sabotage sabotage, DeviceKind device,
                const ProbeToolchain& toolchain) {
  using Operation = kit::ProbeOperation;
  add<AffineArgs>(catalog, Operation::kAffine, sabotage, device, toolchain);
  // The forward's reference makes what a backward is given; its own defects are planted apart.
  add<AffineBackwardArgs>(catalog, Operation::kAffineBackward, sabotage, device, toolchain);
  add<GatherArgs>(catalog, Operation::kGather, sabotage, device, toolchain);
  add<UpdateArgs>(catalog, Operation::kUpdate, sabotage, device, toolchain);
}

}  // namespace kw::suite
