// SPDX-License-Identifier: Apache-2.0
// Private: DLPack tensors as views of core, and back.
#pragma once

#include <string>

#include <tvm/ffi/container/tensor.h>

#include "kernelwright/base/tensor.hpp"
#include "kernelwright/core/problem.hpp"
#include "kernelwright/runtime/device.hpp"

namespace kw::ffi {

// The same memory. `name` is the parameter's, for the ValueError of an element type or rank that
// core does not have.
TensorView view_of(const DLTensor& tensor, const std::string& name);

// Host memory that a GPU reads directly counts as the CPU's. Throws ValueError for devices without
// a backend.
runtime::DeviceName device_of(const DLTensor& tensor, const std::string& name);
DLDevice dl_device(runtime::DeviceName device) noexcept;
DLDataType dl_dtype(DType dtype) noexcept;

// A contiguous tensor with the layout of `spec`: from the caller's framework, if it brought an
// allocator with its arguments, else on the host. Throws ValueError on a GPU without one.
tvm::ffi::Tensor allocate(const TensorSpec& spec, DLDevice device, const std::string& name);
// Raw bytes from the framework's allocator; throws tvm::ffi::Error when it has none.
tvm::ffi::Tensor allocate_bytes(std::int64_t bytes, DLDevice device);

// A tensor over memory of somebody else, who keeps it alive while the tensor is used.
tvm::ffi::Tensor borrowed(const TensorView& view, DLDevice device);

}  // namespace kw::ffi
