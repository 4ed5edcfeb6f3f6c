// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/ffi/tensors.hpp"

#include <cstdlib>

#include <fmt/format.h>
#include <tvm/ffi/extra/c_env_api.h>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/ffi/errors.hpp"
#include "kernelwright/runtime/memory.hpp"

namespace kw::ffi {
namespace {

using tvm::ffi::Tensor;

constexpr DLDataType kDlTypes[kNumDTypes] = {
    {kDLFloat, 64, 1},        {kDLFloat, 32, 1},      {kDLFloat, 16, 1}, {kDLBfloat, 16, 1},
    {kDLFloat8_e4m3fn, 8, 1}, {kDLFloat8_e5m2, 8, 1}, {kDLInt, 64, 1},   {kDLInt, 32, 1},
    {kDLUInt, 8, 1},          {kDLBool, 8, 1},
};

// TVM FFI calls these by its own names.
// NOLINTBEGIN(readability-identifier-naming)
struct HostMemory {
  void AllocData(DLTensor* tensor) {
    const auto alignment = static_cast<std::size_t>(runtime::kMemoryAlignment);
    const std::size_t bytes = tvm::ffi::GetDataSize(*tensor);
    tensor->data = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
    if (tensor->data == nullptr) raise("MemoryError", fmt::format("no {} bytes of memory", bytes));
  }
  void FreeData(DLTensor* tensor) noexcept { std::free(tensor->data); }
};

struct Borrowed {
  void AllocData(DLTensor* tensor, void* data) noexcept { tensor->data = data; }
  void FreeData(DLTensor*) noexcept {}
};
// NOLINTEND(readability-identifier-naming)

}  // namespace

TensorView view_of(const DLTensor& tensor, const std::string& name) {
  TensorView view;
  int index = 0;
  const auto is_type = [&](const DLDataType& type) {
    return type.code == tensor.dtype.code && type.bits == tensor.dtype.bits &&
           tensor.dtype.lanes == 1;
  };
  while (index < kNumDTypes && !is_type(kDlTypes[index])) ++index;
  if (index == kNumDTypes) {
    std::string known;
    for (int i = 0; i < kNumDTypes; ++i) {
      known += std::string(i == 0 ? "" : ", ") + std::string(dtype_name(static_cast<DType>(i)));
    }
    raise("ValueError",
          fmt::format("'{}' has elements of DLPack type ({}, {} bits, {} lanes); "
                      "accepted are {}",
                      name, tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes, known));
  }
  if (tensor.ndim > kMaxRank) {
    raise("ValueError", fmt::format("'{}' has {} dimensions; at most {} are supported", name,
                                    tensor.ndim, kMaxRank));
  }
  view.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  view.dtype = static_cast<DType>(index);
  view.rank = static_cast<std::int8_t>(tensor.ndim);
  const auto rank = static_cast<std::size_t>(tensor.ndim);
  for (std::size_t i = 0; i < rank; ++i) view.sizes[i] = tensor.shape[i];
  if (tensor.strides == nullptr) {
    contiguous_strides({view.sizes.data(), rank}, {view.strides.data(), rank});
  } else {
    for (std::size_t i = 0; i < rank; ++i) view.strides[i] = tensor.strides[i];
  }
  return view;
}

runtime::DeviceName device_of(const DLTensor& tensor, const std::string& name) {
  switch (tensor.device.device_type) {
    case kDLCPU:
    case kDLCUDAHost:
      return {DeviceKind::kCpu, 0};
    case kDLCUDA:
    case kDLCUDAManaged:
      return {DeviceKind::kCuda, tensor.device.device_id};
    default:
      raise("ValueError", fmt::format("'{}' lies on a device of DLPack type {}; this build has "
                                      "backends for cpu and cuda",
                                      name, static_cast<int>(tensor.device.device_type)));
  }
}

DLDevice dl_device(runtime::DeviceName device) noexcept {
  return {device.kind == DeviceKind::kCuda ? kDLCUDA : kDLCPU, device.index};
}

DLDataType dl_dtype(DType dtype) noexcept { return kDlTypes[static_cast<int>(dtype)]; }

Tensor allocate(const TensorSpec& spec, DLDevice device, const std::string& name) {
  const tvm::ffi::ShapeView shape(spec.sizes.data(), static_cast<std::size_t>(spec.rank));
  if (TVMFFIEnvGetDLPackManagedTensorAllocator() != nullptr) {
    return Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, shape, dl_dtype(spec.dtype), device);
  }
  if (device.device_type != kDLCPU) {
    raise("ValueError",
          fmt::format("output '{}' is missing, and the arguments' framework offers no "
                      "allocator on cuda; pass the output",
                      name));
  }
  return Tensor::FromNDAlloc(HostMemory{}, shape, dl_dtype(spec.dtype), device);
}

Tensor allocate_bytes(std::int64_t bytes, DLDevice device) {
  return Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, tvm::ffi::ShapeView(&bytes, 1),
                              dl_dtype(DType::kU8), device);
}

Tensor borrowed(const TensorView& view, DLDevice device) {
  const auto rank = static_cast<std::size_t>(view.rank);
  return Tensor::FromNDAllocStrided(Borrowed{}, tvm::ffi::ShapeView(view.sizes.data(), rank),
                                    tvm::ffi::ShapeView(view.strides.data(), rank),
                                    dl_dtype(view.dtype), device, view.data);
}

}  // namespace kw::ffi
