// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/ops/rms_norm/contract.hpp"

namespace kw::ops::rms_norm {
namespace {

constexpr std::int64_t kMaxHidden = 262144;
constexpr const char* kElement = "T: bf16|f16|f32|f64";
constexpr const char* kWeight = "W: T|f32";

std::vector<kw::Variant> variants() {
  return {
      {"standard", "y = round(x*r) * weight: the order of the Hugging Face Llama norm",
       ToleranceClass::kTwoRoundings},
      {"fp32", "y = round(x*r*weight): one rounding, as the DeepSeek-V4 norm",
       ToleranceClass::kOneRounding},
      {"qwen3_5", "y = round(x*r*(1+weight)): zero-centred weight, as Qwen3.5 and Gemma",
       ToleranceClass::kOneRounding},
      {"unweighted", "y = x * round(r): no weight; r is rounded to the type of x first",
       ToleranceClass::kTwoRoundings},
  };
}

// Gradients are computed in one piece, whatever the forward rounds.
std::vector<kw::Variant> backward_variants() {
  std::vector<kw::Variant> list = variants();
  for (kw::Variant& variant : list) {
    variant.help = "gradients of: " + variant.help;
    variant.tolerance = ToleranceClass::kOneRounding;
  }
  return list;
}

void hidden_symbol(Recorder& v) {
  v.symbol("C", Variability::kStatic, 1, kMaxHidden, "hidden size");
}

double elements(const Problem& problem) {
  return static_cast<double>(problem.rows()) * static_cast<double>(problem.size("C"));
}

}  // namespace

void Args::visit(Recorder& v) {
  hidden_symbol(v);
  v.input("x", x, "[*, C]", kElement, "rows to normalise").differentiable();
  v.input("weight", weight, "[C]", kWeight, "scale of each column")
      .only_in({"standard", "fp32", "qwen3_5"})
      .differentiable();
  v.output("y", y, "[*, C]", "T", "normalised rows");
  v.output("rstd", rstd, "[*]", "acc(T)", "reciprocal root mean square of each row").saved();
  v.scalar("eps", eps, "added to the mean of squares").range(0, 1);
}

const Contract& Args::contract() {
  static const Contract value = make_contract<Args>({
      .operation = "rms_norm",
      .summary = "root-mean-square normalisation of rows",
      .version = 1,
      .variants = variants(),
      .numerical_mode = "f32",
      .backward = "rms_norm_backward",
      .field = {},
      .constrain = nullptr,
      .flops = [](const Problem& problem) { return 4 * elements(problem); },
      .bytes = nullptr,
  });
  return value;
}

void BackwardArgs::visit(Recorder& v) {
  hidden_symbol(v);
  v.input("dy", dy, "[*, C]", "T", "gradient of y");
  v.input("x", x, "[*, C]", kElement, "rows that were normalised");
  v.input("weight", weight, "[C]", kWeight, "scale of each column")
      .only_in({"standard", "fp32", "qwen3_5"});
  v.input("rstd", rstd, "[*]", "acc(T)", "as saved by the forward; recomputed when absent")
      .optional();
  v.output("dx", dx, "[*, C]", "T", "gradient of x").optional();
  v.output("dweight", dweight, "[C]", "W", "gradient of weight, summed in f32 and cast once")
      .only_in({"standard", "fp32", "qwen3_5"})
      .optional();
  v.scalar("eps", eps, "as in the forward").range(0, 1);
}

const Contract& BackwardArgs::contract() {
  static const Contract value = make_contract<BackwardArgs>({
      .operation = "rms_norm_backward",
      .summary = "gradients of rms_norm",
      .version = 1,
      .variants = backward_variants(),
      .numerical_mode = "f32",
      .backward = {},
      .field = {},
      .constrain = nullptr,
      .flops = [](const Problem& problem) { return 11 * elements(problem); },
      .bytes = nullptr,
  });
  return value;
}

std::vector<Operation> operations() {
  return {
      {&Args::contract(), {native_forward(), cuda_forward(), reference_forward()}},
      {&BackwardArgs::contract(), {native_backward(), cuda_backward(), reference_backward()}},
  };
}

}  // namespace kw::ops::rms_norm
