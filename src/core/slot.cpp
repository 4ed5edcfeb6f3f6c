// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/slot.hpp"

#include "kernelwright/base/ranges.hpp"
#include "kernelwright/core/binding.hpp"

namespace kw {

Status OpSlot::call(const Contract& contract, const void* args, Stream stream) noexcept {
  Binding* binding = binding_.load(std::memory_order_acquire);
  if (binding == nullptr)
    return failed(StatusCode::kUnbound, repr() + " is not bound; guard the call with bound()");
  if (&contract != &binding->contract()) {
    return failed(StatusCode::kInvalidArgument,
                  repr() + " was called with the Args of '" + contract.operation + "'");
  }
  const Range range("call", operation_, variant_);
  DevicePort& port = binding->port_of(stream);
  const Hardware& hardware = port.hardware();
  if (hardware.kind == binding->device_kind()) {
    Key key;
    FoundCall found{recent_.find(args, hardware.index), nullptr};
    const bool is_recent = found.call != nullptr;
    if (!is_recent && inspect_call(contract, args, hardware.index, key) == CallCheck::kOk)
      found = binding->find_call(key);
    if (found.call != nullptr) {
      const Status status = binding->launch(*found.call, args, port, stream);
      if (status.code != StatusCode::kNotPrepared) {
        if (!is_recent && found.stays()) recent_.remember(*found.call);
        return status;
      }  // this stream lacks workspace, which the way below reserves
    }
  }
  const PreparedCall* staying = nullptr;
  const Status status = binding->call_slow(args, stream, &staying);
  if (staying != nullptr) recent_.remember(*staying);
  return status;
}

std::string OpSlot::repr() const {
  const Binding* binding = binding_.load(std::memory_order_acquire);
  return "OpSlot(" + std::string(operation_) + "/" + std::string(variant_) + " -> " +
         (binding == nullptr ? "eager" : binding->selection().candidates.front()->info.name) + ")";
}

void OpSlot::attach(Binding* binding) noexcept {
  recent_.forget();
  binding_.store(binding, std::memory_order_release);
}

void SlotSet::unbind() noexcept {
  for (OpSlot* slot : slots_) slot->attach(nullptr);
}

}  // namespace kw
