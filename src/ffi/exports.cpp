// SPDX-License-Identifier: Apache-2.0
// What Python finds after loading this library, as global functions of TVM FFI:
//   kw.call(operation, variant, device) -> function or None (the model's own code)
//   kw.bind(device, labels) -> [report as JSON, function or None per label "operation/variant"]
//   kw.register(description as JSON, callable, supports or None): see python_kernel.hpp
#include <memory>

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>
#include <nlohmann/json.hpp>

#include "kernelwright/ffi/errors.hpp"
#include "kernelwright/ffi/front_call.hpp"
#include "kernelwright/ffi/python_kernel.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/ops/process.hpp"

namespace kw::ffi {
namespace {

using tvm::ffi::Any;
using tvm::ffi::Array;
using tvm::ffi::Function;
using tvm::ffi::String;

std::shared_ptr<FrontCall> front_call(std::string_view operation, std::string_view variant,
                                      DeviceKind device) {
  const Contract& contract = *builtin_catalog().operation(operation).contract;
  return std::make_shared<FrontCall>(contract, contract.variant_index(variant), device);
}

Any function_of(std::shared_ptr<FrontCall> call) {
  if (!call->slot().bound()) return {};
  return Function::FromPacked(
      [call = std::move(call)](tvm::ffi::PackedArgs arguments, Any* result) {
        *result = (*call)(arguments);
      });
}

std::string_view text_of(const String& string) noexcept { return {string.data(), string.size()}; }

Any call(const String& operation, const String& variant, const String& device) {
  return translated([&] {
    Context& context = process_context(text_of(device));
    auto made = front_call(text_of(operation), text_of(variant), context.bindings().hardware.kind);
    SlotSet slots{&made->slot()};
    context.bind(slots);
    return function_of(std::move(made));
  });
}

Array<Any> bind(const String& device, const Array<String>& labels) {
  return translated([&] {
    Context& context = process_context(text_of(device));
    std::vector<std::shared_ptr<FrontCall>> calls;
    std::vector<std::unique_ptr<OpSlot>> planned;  // of operations that this build lacks
    std::vector<std::string> words;                // what `planned` refers to
    std::vector<OpSlot*> slots;
    words.reserve(2 * labels.size());
    for (const String& label : labels) {
      const std::string text(text_of(label));
      const std::size_t slash = text.find('/');
      const std::string operation = text.substr(0, slash),
                        variant = slash == std::string::npos ? "" : text.substr(slash + 1);
      if (builtin_catalog().find(operation) != nullptr) {
        calls.push_back(front_call(operation, variant, context.bindings().hardware.kind));
        slots.push_back(&calls.back()->slot());
        continue;
      }
      calls.push_back(nullptr);
      words.push_back(operation);
      words.push_back(variant);
      planned.push_back(std::make_unique<OpSlot>(words[words.size() - 2], words.back()));
      slots.push_back(planned.back().get());
    }
    SlotSet set(std::move(slots));
    const BindReport report = context.bind(set);
    nlohmann::ordered_json json{
        {"device", runtime::device_name_text(
                       {context.bindings().hardware.kind, context.bindings().hardware.index})},
        {"require_evidence", context.settings().require_evidence},
        {"slots", nlohmann::ordered_json::array()},
        {"unused_fields", report.unused_fields}};
    for (const SlotReport& row : report.slots) {
      json["slots"].push_back({{"operation", row.operation},
                               {"variant", row.variant},
                               {"bound", row.bound},
                               {"reason", row.reason},
                               {"origin", row.origin}});
    }
    Array<Any> result{String(json.dump())};
    for (const auto& made : calls) result.push_back(made == nullptr ? Any() : function_of(made));
    return result;
  });
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("kw.call", call)
      .def("kw.bind", bind)
      .def("kw.register", register_kernel);
}

}  // namespace kw::ffi
