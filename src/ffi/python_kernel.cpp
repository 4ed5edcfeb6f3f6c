// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/ffi/python_kernel.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <tvm/ffi/container/array.h>
#include <nlohmann/json.hpp>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/core/field_access.hpp"
#include "kernelwright/ffi/errors.hpp"
#include "kernelwright/ffi/tensors.hpp"
#include "kernelwright/ops/catalog.hpp"

namespace kw::ffi {
namespace {

using tvm::ffi::Any;
using tvm::ffi::Array;
using tvm::ffi::Function;
using tvm::ffi::Optional;
using tvm::ffi::String;
using tvm::ffi::Tensor;
using Json = nlohmann::json;

// Lives as long as the catalog, which is never destroyed.
struct Kernel {
  Optional<Function> function, supports;
  const Contract* contract;
  std::vector<std::string> outputs, dtypes;  // what it computes; dtypes empty: any
  bool contiguous = false;                   // only such tensors
};

// What its description says of its domain, before it is asked itself.
std::optional<Rejection> outside(const Kernel& kernel, const Problem& problem) {
  const auto names = [](const std::vector<std::string>& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  for (std::size_t i = 0; i < problem.values.size(); ++i) {
    const Parameter& parameter = kernel.contract->parameters[i];
    const ParameterValue& value = problem.values[i];
    std::vector<TensorSpec> tensors = value.list;
    if (value.tensor.present) tensors.push_back(value.tensor);
    if (tensors.empty()) continue;
    if (parameter.role == Role::kOutput && !names(kernel.outputs, parameter.name)) {
      return Rejection{Rejection::Code::kOther, "computes " + join(kernel.outputs) + " only"};
    }
    for (const TensorSpec& tensor : tensors) {
      const std::string_view dtype = dtype_name(tensor.dtype);
      const bool computed = parameter.role == Role::kOutput;
      if (!computed && !kernel.dtypes.empty() && !names(kernel.dtypes, dtype)) {
        return Rejection{
            Rejection::Code::kDType,
            "takes " + join(kernel.dtypes) + "; '" + parameter.name + "' is " + std::string(dtype)};
      }
      if (kernel.contiguous && !tensor.contiguous) {
        return Rejection{Rejection::Code::kLayout,
                         "takes contiguous tensors only; '" + parameter.name + "' is strided"};
      }
    }
  }
  return std::nullopt;
}

struct Plan {
  const Kernel* kernel;
  std::string variant;
  DLDevice device;
};

Any argument_of(const Parameter& parameter, const CallStep& step, const void* args,
                DLDevice device) {
  if (parameter.kind == Kind::kTensor) {
    const auto& view = field_at<TensorView>(args, parameter.offset);
    return view.present() ? Any(borrowed(view, device)) : Any();
  }
  if (parameter.kind == Kind::kTensorList) {
    const auto& list = field_at<TensorList>(args, parameter.offset);
    if (list.data == nullptr) return {};
    Array<Tensor> tensors;
    for (std::int64_t i = 0; i < list.size; ++i) tensors.push_back(borrowed(list.data[i], device));
    return tensors;
  }
  const std::optional<double> number = scalar_at(args, step);
  if (!number) return {};
  switch (parameter.kind) {
    case Kind::kBool:
      return *number != 0;
    case Kind::kInt:
      return static_cast<std::int64_t>(*number);
    case Kind::kEnum:
      return String(parameter.choices[static_cast<std::size_t>(*number)]);
    default:
      return *number;
  }
}

std::optional<Rejection> supports(void* self, const Problem& problem, const Hardware&) {
  const auto& kernel = *static_cast<const Kernel*>(self);
  if (auto rejection = outside(kernel, problem)) return rejection;
  if (!kernel.supports.has_value()) return std::nullopt;
  try {
    const Any answer = (*kernel.supports)(String(problem_text(problem)));
    if (answer.type_index() == tvm::ffi::TypeIndex::kTVMFFINone) return std::nullopt;
    return Rejection{Rejection::Code::kOther, std::string(answer.cast<String>())};
  } catch (const tvm::ffi::Error& error) {
    return Rejection{Rejection::Code::kOther,
                     "its supports() raised " + error.kind() + ": " + std::string(error.message())};
  }
}

// By the class of what Python raised; two of them are python/kernelwright/registry.py's.
StatusCode status_of(std::string_view exception) noexcept {
  if (exception == "NotImplementedError") return StatusCode::kUnsupported;
  if (exception == "OutputStructureError") return StatusCode::kOutputStructure;
  if (exception == "OutputAliasError") return StatusCode::kOutputAlias;
  return StatusCode::kInternal;
}

Status launch(const void* raw, const void* args, const LaunchFrame& frame) noexcept {
  const auto& plan = *static_cast<const Plan*>(raw);
  const Contract& contract = *plan.kernel->contract;
  try {
    std::vector<Any> arguments{
        String(plan.variant),
        static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(frame.stream))};
    for (std::size_t i = 0; i < contract.parameters.size(); ++i) {
      arguments.push_back(
          argument_of(contract.parameters[i], contract.call_steps[i], args, plan.device));
    }
    std::vector<tvm::ffi::AnyView> views(arguments.begin(), arguments.end());
    Any result;
    (*plan.kernel->function)
        .CallPacked(tvm::ffi::PackedArgs(views.data(), static_cast<int>(views.size())), &result);
    return {};
  } catch (const tvm::ffi::Error& error) {
    return failed(status_of(error.kind()),
                  fmt::format("{}/{}: the Python implementation raised {}: {}", contract.operation,
                              plan.variant, error.kind(), std::string(error.message())));
  } catch (const std::exception& error) {
    return failed(StatusCode::kInternal, error.what());
  }
}

ImplementationFunctions functions() {
  ImplementationFunctions f;
  f.supports = supports;
  f.workspace = [](void*, const Problem&) { return WorkspaceSize{}; };
  f.choose = [](void*, const Problem& problem, const Hardware&, const CfgPins& pins) {
    if (!pins.empty()) {
      fail(Code::kInvalidArgument, "a Python implementation has no Cfg; '{}' cannot be pinned",
           pins.begin()->first);
    }
    return Specialization{"{.variant = " + problem.variant_name() + "}", nullptr, {}};
  };
  f.launch = launch;
  f.destroy = [](void* plan) noexcept { delete static_cast<Plan*>(plan); };
  f.describe = [](const void*) {
    // Nothing tells which Python ran, so evidence for it could not be told from stale evidence.
    return PlanFacts{{"solution", "a Python callable"}, {"code", "opaque"}};
  };
  f.prepare = [](void* self, PrepareRequest& request) -> void* {
    const Hardware& hardware = request.device.hardware();
    return new Plan{static_cast<const Kernel*>(self), request.problem.variant_name(),
                    dl_device({hardware.kind, hardware.index})};
  };
  return f;
}

}  // namespace

void register_kernel(const String& description, Optional<Function> kernel,
                     Optional<Function> supported) {
  translated([&] {
    const Json json = Json::parse(std::string(description));
    const auto operation = json.at("operation").get<std::string>();
    Catalog& catalog = builtin_catalog();
    ImplementationInfo info;
    info.name = json.at("name").get<std::string>();
    if (json.contains("excluded")) {
      catalog.operation(operation);  // throws, with the nearest name
      catalog.exclude({operation, info.name, json.at("excluded").get<std::string>()});
      return;
    }
    info.description = json.at("description").get<std::string>();
    info.solution = json.at("solution").get<std::string>();
    info.device = parse_device_kind(json.at("device").get<std::string>());
    info.origin = json.at("origin").get<std::string>();
    info.variants = json.value("variants", info.variants);
    info.min_capability = json.value("min_capability", info.min_capability);
    info.max_capability = json.value("max_capability", info.max_capability);
    info.eager_mode = json.value("eager_mode", info.eager_mode);
    info.graph_mode = json.value("graph_mode", info.graph_mode);
    info.deterministic = json.value("deterministic", info.deterministic);
    info.batch_invariant = json.value("batch_invariant", info.batch_invariant);
    info.differentiable = json.value("differentiable", info.differentiable);
    info.priority = json.value("priority", info.priority);
    auto state = std::make_unique<Kernel>(
        Kernel{std::move(kernel), std::move(supported), catalog.operation(operation).contract,
               json.at("outputs").get<std::vector<std::string>>(),
               json.value("dtypes", std::vector<std::string>{}), json.value("contiguous", false)});
    catalog.register_implementation(operation, {std::move(info), functions(), state.get()},
                                    json.value("force", false));
    static_cast<void>(state.release());  // the catalog keeps it
  });
}

}  // namespace kw::ffi
