// SPDX-License-Identifier: Apache-2.0
// kw_bind and calls through it.
#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/ranges.hpp"
#include "kernelwright/capi/boundary.hpp"
#include "kernelwright/capi/call_arguments.hpp"
#include "kernelwright/capi/place.hpp"
#include "kernelwright/core/binding.hpp"

// Refers to a context of the process, which lives as long.
struct kw_binding {
  kw::Binding& binding;
  kw::DevicePort& port;
};

namespace kw::capi {
namespace {

kw_binding* bind(const char* operation, const char* variant, const char* device) {
  const auto [context, port] = place_of(device == nullptr ? "" : device);
  const Contract& contract = *context.catalog().operation(operation).contract;
  const bool named = variant != nullptr && *variant != '\0';
  Binding& binding =
      context.binding(operation, named ? variant : contract.variants.front().name.c_str());
  const OperationBinding& selection = binding.selection();
  if (selection.candidates.empty()) {
    fail(
        Code::kUnsupported, "{} on {}: {}", selection.label(), device_name(port),
        selection.absent.empty() ? "the choice is the model's own code (eager)" : selection.absent);
  }
  return new kw_binding{binding, port};
}

Status call(const kw_binding& bound, const Arguments& arguments, const Stream& stream) noexcept {
  Binding& binding = bound.binding;
  const Range range("call", binding.contract().operation, binding.selection().variant_name());
  Key key;
  const bool is_packed = inspect_call(binding.contract(), arguments.data(),
                                      bound.port.hardware().index, key) == CallCheck::kOk;
  if (is_packed && bound.port.hardware().kind == binding.device_kind()) {
    if (const FoundCall found = binding.find_call(key); found.call != nullptr) {
      const Status status = binding.launch(*found.call, arguments.data(), bound.port, stream);
      if (status.code != StatusCode::kNotPrepared) return status;
    }  // else it lacks workspace
  }
  const PreparedCall* staying = nullptr;
  return binding.call_slow(arguments.data(), stream, &staying);
}

}  // namespace
}  // namespace kw::capi

extern "C" {

int kw_bind(const char* operation, const char* variant, const char* device,
            kw_binding** out) noexcept {
  return kw::capi::guarded([&] {
    kw::capi::require_pointer(out, "out");
    *out = nullptr;
    *out = kw::capi::bind(kw::capi::require_text(operation, "operation"), variant, device);
  });
}

void kw_unbind(kw_binding* binding) noexcept { delete binding; }

int kw_call(kw_binding* binding, const kw_tensor* tensors, int32_t num_tensors,
            const kw_scalar* scalars, int32_t num_scalars, void* workspace, int64_t workspace_bytes,
            void* stream) noexcept {
  return kw::capi::guarded([&] {
    kw::capi::require_pointer(binding, "binding");
    kw::capi::require_stream(binding->port, stream);
    kw::capi::CallerWorkspace own(workspace, workspace_bytes);
    kw::Arguments arguments(binding->binding.contract());
    kw::capi::read_arguments({tensors, scalars, num_tensors, num_scalars}, arguments);
    return kw::capi::code_of(
        kw::capi::call(*binding, arguments, {&binding->port, stream, own.source()}));
  });
}

int kw_workspace(kw_binding* binding, const kw_tensor* tensors, int32_t num_tensors,
                 const kw_scalar* scalars, int32_t num_scalars, int64_t* bytes,
                 int64_t* zeroed_bytes) noexcept {
  return kw::capi::guarded([&] {
    kw::capi::require_pointer(binding, "binding");
    kw::Binding& bound = binding->binding;
    kw::capi::answer_workspace(bound.contract(), {tensors, scalars, num_tensors, num_scalars},
                               bytes, zeroed_bytes, [&](const void* args) {
                                 kw::Problem problem = kw::problem_from_args(
                                     bound.contract(), bound.selection().variant, args);
                                 check(problem);
                                 return bound.decide(problem, binding->port, {}).workspace;
                               });
  });
}

}  // extern "C"
