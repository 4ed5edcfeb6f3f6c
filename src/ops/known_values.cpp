// SPDX-License-Identifier: Apache-2.0
// One row per field, value and per-device meaning. `eager` and `auto` are values of every field and
// have no row. docs/selection.md is generated from here.
#include "kernelwright/ops/known_values.hpp"

#include <string>
#include <string_view>

namespace kw::ops {
namespace {

enum class Runs { kAnywhere, kCuda, kNpu };

struct FieldRow {
  std::string_view field, operation, variant, shipped_default;
};

struct ValueRow {
  std::string_view field, value;
  Runs runs;
  std::string_view plugin, condition;
};

// What a value means on a device: a default written for another one, or a retired spelling.
struct MeaningRow {
  std::string_view field, value;
  DeviceKind device;
  std::string_view meaning;
};

// clang-format off
constexpr FieldRow kFields[] = {
    {"attn_implementation", "attention", "", "flash_attention_2"},
    {"moe_implementation", "moe_experts", "", "fused_triton"},
    {"cross_entropy_loss_implementation", "cross_entropy_loss", "", "liger_kernel"},
    {"rms_norm_implementation", "rms_norm", "", "liger_kernel"},
    {"swiglu_mlp_implementation", "swiglu_mlp", "", "liger_kernel"},
    {"rotary_pos_emb_implementation", "apply_rotary_pos_emb", "", "liger_kernel"},
    {"rotary_pos_emb_vision_implementation", "apply_rotary_pos_emb", "vision", "eager"},
    {"load_balancing_loss_implementation", "load_balancing_loss", "", "triton"},
    {"rms_norm_gated_implementation", "rms_norm_gated", "", "fla"},
    {"causal_conv1d_implementation", "causal_conv1d", "", "fla"},
    {"chunk_gated_delta_rule_implementation", "chunk_gated_delta_rule", "", "fla"},
    {"dsa_indexer_implementation", "dsa_indexer", "", "eager"},
    {"dsa_attention_implementation", "dsa_attention", "", "eager"},
    {"mhc_implementation", "mhc", "", "eager"},
};

constexpr ValueRow kValues[] = {
    {"attn_implementation", "sdpa", Runs::kAnywhere, "torch", ""},
    {"attn_implementation", "flash_attention_2", Runs::kCuda, "flash_attn", "compute capability 8.0 or newer"},
    {"attn_implementation", "flash_attention_3", Runs::kCuda, "flash_attn_3", "compute capability 9.0"},
    {"attn_implementation", "flash_attention_4", Runs::kCuda, "flash_attn_4", "compute capability 9.0 or newer"},
    {"attn_implementation", "flex_attention", Runs::kCuda, "torch", ""},
    {"attn_implementation", "magi_attention", Runs::kCuda, "magi_attention", "compute capability 9.0"},
    {"attn_implementation", "native-sparse", Runs::kCuda, "native_sparse_attention", ""},
    {"moe_implementation", "fused_triton", Runs::kCuda, "triton", "compute capability 7.0 or newer"},
    {"moe_implementation", "fused_quack", Runs::kCuda, "quack", "compute capability 9.0 or newer"},
    {"moe_implementation", "fused_npu", Runs::kNpu, "torch_npu", ""},
    {"moe_implementation", "fused", Runs::kAnywhere, "quack or torch_npu", ""},
    {"cross_entropy_loss_implementation", "liger_kernel", Runs::kCuda, "liger_kernel", ""},
    {"cross_entropy_loss_implementation", "chunk_loss", Runs::kAnywhere, "torch", ""},
    {"cross_entropy_loss_implementation", "npu", Runs::kNpu, "torch_npu", ""},
    {"rms_norm_implementation", "liger_kernel", Runs::kCuda, "liger_kernel", ""},
    {"rms_norm_implementation", "npu", Runs::kNpu, "torch_npu", ""},
    {"rms_norm_implementation", "triton", Runs::kCuda, "triton", ""},
    {"swiglu_mlp_implementation", "liger_kernel", Runs::kCuda, "liger_kernel", ""},
    {"rotary_pos_emb_implementation", "liger_kernel", Runs::kCuda, "liger_kernel", ""},
    {"rotary_pos_emb_implementation", "npu", Runs::kNpu, "torch_npu", ""},
    {"rotary_pos_emb_implementation", "triton", Runs::kCuda, "triton", ""},
    {"rotary_pos_emb_vision_implementation", "npu", Runs::kNpu, "torch_npu", ""},
    {"load_balancing_loss_implementation", "triton", Runs::kCuda, "triton", ""},
    {"rms_norm_gated_implementation", "fla", Runs::kCuda, "fla", ""},
    {"rms_norm_gated_implementation", "npu", Runs::kNpu, "torch_npu", ""},
    {"causal_conv1d_implementation", "fla", Runs::kCuda, "fla", ""},
    {"causal_conv1d_implementation", "npu", Runs::kNpu, "torch_npu", ""},
    {"chunk_gated_delta_rule_implementation", "fla", Runs::kCuda, "fla", ""},
    {"chunk_gated_delta_rule_implementation", "flash_qla", Runs::kCuda, "flash_qla", "compute capability 9.0 exactly"},
    {"chunk_gated_delta_rule_implementation", "npu", Runs::kNpu, "torch_npu", ""},
    {"chunk_gated_delta_rule_implementation", "npu_ascendc", Runs::kNpu, "torch_npu", ""},
    {"dsa_indexer_implementation", "cudnn", Runs::kCuda, "cudnn", "GLM layout"},
    {"dsa_indexer_implementation", "tilelang", Runs::kCuda, "tilelang", "DeepSeek-V4 layout, compute capability 9.0 or newer"},
    {"dsa_attention_implementation", "flashmla_cudnn", Runs::kCuda, "flash_mla", "GLM layout, sm_90a or sm_100f"},
    {"dsa_attention_implementation", "tilelang", Runs::kCuda, "tilelang", "DeepSeek-V4 layout, compute capability 9.0 or newer"},
    {"mhc_implementation", "tilelang", Runs::kCuda, "tile_kernels", "compute capability 9.0 or newer"},
};

// A file that holds its origin's GPU default: on NPU it means the NPU value, or the model's own code.
constexpr MeaningRow kDefaultsElsewhere[] = {
    {"moe_implementation", "fused_triton", DeviceKind::kNpu, "fused_npu"},
    {"cross_entropy_loss_implementation", "liger_kernel", DeviceKind::kNpu, "npu"},
    {"rms_norm_implementation", "liger_kernel", DeviceKind::kNpu, "npu"},
    {"rotary_pos_emb_implementation", "liger_kernel", DeviceKind::kNpu, "npu"},
    {"swiglu_mlp_implementation", "liger_kernel", DeviceKind::kNpu, "eager"},
    {"load_balancing_loss_implementation", "triton", DeviceKind::kNpu, "eager"},
};

// Retired spellings, whoever writes them.
constexpr MeaningRow kDeprecated[] = {
    {"moe_implementation", "fused", DeviceKind::kCpu, ""},
    {"moe_implementation", "fused", DeviceKind::kCuda, "fused_quack"},
    {"moe_implementation", "fused", DeviceKind::kNpu, "fused_npu"},
};
// clang-format on

KnownValue known_value(const ValueRow& row) {
  KnownValue value;
  value.field = row.field;
  value.value = row.value;
  value.remedy = "needs plugin " + std::string(row.plugin);
  if (!row.condition.empty()) value.remedy += " (" + std::string(row.condition) + ")";
  if (row.runs == Runs::kCuda) value.devices = {DeviceKind::kCuda};
  if (row.runs == Runs::kNpu) value.devices = {DeviceKind::kNpu};
  for (const MeaningRow& meaning : kDefaultsElsewhere) {
    if (meaning.field == row.field && meaning.value == row.value) {
      value.normalises_to.emplace(meaning.device, meaning.meaning);
    }
  }
  for (const MeaningRow& meaning : kDeprecated) {
    if (meaning.field == row.field && meaning.value == row.value) {
      value.normalises_to.emplace(meaning.device, meaning.meaning);
      value.deprecated = true;
    }
  }
  return value;
}

}  // namespace

void add_known_values(Catalog& catalog) {
  for (const FieldRow& row : kFields) {
    catalog.add_known_field({std::string(row.field), std::string(row.operation),
                             std::string(row.variant), std::string(row.shipped_default)});
  }
  for (const ValueRow& row : kValues) catalog.add_known_value(known_value(row));
}

}  // namespace kw::ops
