// SPDX-License-Identifier: Apache-2.0
#include "core/support/toy_catalog.hpp"

namespace kw::toy {
namespace {

struct Args {
  TensorView x, y;

  void visit(auto& v) {
    v.symbol("C", Variability::kStatic, 1, 1 << 20, "columns");
    v.input("x", x, "[*, C]", "T: bf16|f32", "input");
    v.output("y", y, "[*, C]", "T", "result");
  }
};

ContractInfo info(std::string operation, std::vector<Variant> variants, ConfigField field) {
  ContractInfo info;
  info.operation = std::move(operation);
  info.summary = "a toy";
  info.variants = std::move(variants);
  info.field = std::move(field);
  return info;
}

ConfigField stretch_field() {
  ConfigField field;
  field.name = "elastic_implementation";
  field.aliases = {"stretch_implementation"};
  field.value_prefix = "fused_";
  field.deprecated_values = {{"rubber", "native"}};
  field.variant_names = {{"mirror", "elastic_mirror_implementation"}};
  return field;
}

}  // namespace

const Contract& stretch() {
  static const Contract contract = make_contract<Args>(
      info("stretch", {{"plain", "y = x", {}}, {"mirror", "y = -x", {}}}, stretch_field()));
  return contract;
}

const Contract& fold() {
  static const Contract contract =
      make_contract<Args>(info("fold", {{"plain", "y = x", {}}}, ConfigField{}));
  return contract;
}

Implementation entry(DeviceKind device, const std::string& solution, const std::string& operation) {
  Implementation result;
  result.info.name = std::string(device_kind_name(device)) + "." + solution + "." + operation;
  result.info.description = "a toy entry";
  result.info.solution = solution;
  result.info.device = device;
  ImplementationFunctions& f = result.functions;
  f.supports = [](void*, const Problem&, const Hardware&) { return std::optional<Rejection>(); };
  f.workspace = [](void*, const Problem&) { return WorkspaceSize{}; };
  f.choose = [](void*, const Problem&, const Hardware&, const CfgPins&) {
    return Specialization{};
  };
  f.prepare = [](void*, PrepareRequest&) -> void* { return nullptr; };
  f.launch = [](const void*, const void*, const LaunchFrame&) noexcept { return Status{}; };
  f.destroy = [](void*) noexcept {};
  f.describe = [](const void*) { return PlanFacts{}; };
  return result;
}

void fill(Catalog& catalog) {
  catalog.add(
      {&stretch(),
       {entry(DeviceKind::kCpu, "native", "stretch"), entry(DeviceKind::kCuda, "jit", "stretch"),
        entry(DeviceKind::kCpu, "reference", "stretch")}});
  catalog.add({&fold(), {entry(DeviceKind::kCpu, "native", "fold")}});

  catalog.add_known_field({"elastic_implementation", "stretch", "", "fused_spring"});
  catalog.add_known_field({"twist_implementation", "twist", "", "spring"});
  const std::vector<DeviceKind> cuda{DeviceKind::kCuda}, npu{DeviceKind::kNpu};
  catalog.add_known_value({"elastic_implementation",
                           "fused_spring",
                           "needs plugin spring",
                           cuda,
                           {{DeviceKind::kNpu, "fused_coil"}, {DeviceKind::kCpu, ""}},
                           false});
  catalog.add_known_value(
      {"elastic_implementation", "fused_coil", "needs plugin coil", npu, {}, false});
  catalog.add_known_value(
      {"elastic_implementation",
       "fused",
       "needs plugin spring",
       {},
       {{DeviceKind::kCuda, "fused_spring"}, {DeviceKind::kCpu, "fused_native"}},
       true});
  catalog.add_known_value(
      {"elastic_mirror_implementation", "glass", "needs plugin glass", {}, {}, false});
}

testing::AssertionResult has(const std::string& text, const std::string& piece) {
  if (text.find(piece) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected \"" << piece << "\" in: " << text;
}

}  // namespace kw::toy
