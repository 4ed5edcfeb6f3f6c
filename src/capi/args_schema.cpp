// SPDX-License-Identifier: Apache-2.0
// The Args struct of an operation as bytes.
#include "kernelwright/capi/boundary.hpp"
#include "kernelwright/capi/request.hpp"
#include "kernelwright/ops/catalog.hpp"

namespace kw::capi {
namespace {

struct FieldType {
  const char* kind;
  std::size_t size;
};

FieldType type_of(const Parameter& p) noexcept {
  const bool optional = p.is_optional_field;
  switch (p.kind) {
    case Kind::kTensor:
      return {"tensor", sizeof(TensorView)};
    case Kind::kTensorList:
      return {"tensor_list", sizeof(TensorList)};
    case Kind::kFloat:
      return {"float", optional ? sizeof(std::optional<double>) : sizeof(double)};
    case Kind::kInt:
      return {"int", optional ? sizeof(std::optional<std::int64_t>) : sizeof(std::int64_t)};
    case Kind::kBool:
      return {"bool", sizeof(bool)};
    case Kind::kEnum:
      break;
  }
  return {"enum", sizeof(int)};
}

const Contract& contract_of(const char* operation) {
  return *builtin_catalog().operation(require_text(operation, "operation")).contract;
}

std::string schema(const Contract& contract) {
  Json fields = Json::array();
  for (const Parameter& p : contract.parameters) {
    const FieldType type = type_of(p);
    fields.push_back({{"name", p.name},
                      {"offset", p.offset},
                      {"size", type.size},
                      {"kind", type.kind},
                      {"optional", p.is_optional}});
  }
  return dump(Json{{"operation", contract.operation},
                   {"size", contract.args.size},
                   {"alignment", contract.args.alignment},
                   {"fields", std::move(fields)}});
}

}  // namespace
}  // namespace kw::capi

extern "C" {

int kw_args_schema(const char* operation, char** json) noexcept {
  return kw::capi::answered(json, "json",
                            [&] { return kw::capi::schema(kw::capi::contract_of(operation)); });
}

int kw_args_size(const char* operation, int64_t* bytes) noexcept {
  return kw::capi::guarded([&] {
    kw::capi::require_pointer(bytes, "bytes");
    *bytes = static_cast<int64_t>(kw::capi::contract_of(operation).args.size);
  });
}

}  // extern "C"
