// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/call_pattern.hpp"

#include <array>
#include <bit>
#include <cstdint>

#include "kernelwright/core/field_access.hpp"

namespace kw {
namespace {

std::uint64_t bits(double value) noexcept { return std::bit_cast<std::uint64_t>(value); }

}  // namespace

CallPattern::CallPattern(const Contract& contract, const void* args, int device_index) {
  struct Present {
    const TensorView* view;
    int row, alias_of;
    bool written;
  };
  std::vector<Present> present;
  int row = -1;
  for (const CallStep& step : contract.call_steps) {
    ++row;
    if (step.kind == Kind::kTensorList) return;
    if (step.kind != Kind::kTensor) {
      double value = 0;
      const bool given = read_scalar(args, step, value);
      scalars_.push_back({&step, value, given, step.value_in_key});
      continue;
    }
    const auto& view = field_at<TensorView>(args, step.offset);
    if (!add_tensor(view, step)) return;
    if (!view.present()) continue;
    const bool written = step.role == Role::kOutput || step.role == Role::kMutated;
    present.push_back({&view, row, step.alias_of, written});
  }
  if (present.size() > kMaxTensors) return;
  for (std::size_t i = 0; i < present.size(); ++i) {
    for (std::size_t j = i + 1; j < present.size(); ++j) {
      const Present &a = present[i], &b = present[j];
      if (!a.written && !b.written) continue;
      add_pair(*a.view, *b.view, static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(j),
               a.alias_of == b.row || b.alias_of == a.row);
    }
  }
  device_index_ = device_index;
}

// False: no pattern can hold it.
bool CallPattern::add_tensor(const TensorView& view, const CallStep& step) {
  Tensor tensor{step.offset, view.dtype, view.rank, 0, 0, false};
  if (view.present()) {
    const auto address = reinterpret_cast<std::uintptr_t>(view.data);
    if (address == 0 || view.numel() == 0) return false;
    const int align_class = std::countr_zero(address | 16U);
    tensor.align_mask = static_cast<std::uint8_t>(align_class == 4 ? 15 : (2 << align_class) - 1);
    tensor.align = static_cast<std::uint8_t>(address & tensor.align_mask);
    tensor.contiguous = view.contiguous();
    for (std::size_t d = 0; d < view.shape().size(); ++d)
      dims_.push_back({view.sizes[d], view.strides[d]});
  }
  tensors_.push_back(tensor);
  return true;
}

void CallPattern::add_pair(const TensorView& a, const TensorView& b, std::uint8_t first,
                           std::uint8_t second, bool declared) {
  const auto x = a.byte_range(), y = b.byte_range();
  const auto n = static_cast<std::uint64_t>(x.end - x.begin);
  const auto m = static_cast<std::uint64_t>(y.end - y.begin);
  TensorView moved = b;
  moved.data = a.data;
  pairs_.push_back({static_cast<std::uint64_t>(y.begin - x.begin) + m - 1, n + m - 1, first, second,
                    declared && is_same_tensor(a, moved)});
}

bool CallPattern::matches(const void* args, int device_index) const noexcept {
  if (device_index != device_index_ || !usable()) return false;
  std::array<const TensorView*, kMaxTensors> present;
  std::size_t count = 0;
  const Dim* dim = dims_.data();
  for (const Tensor& tensor : tensors_) {
    const auto& view = field_at<TensorView>(args, tensor.offset);
    if (view.rank != tensor.rank) return false;
    if (tensor.rank < 0) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(view.data);
    if (view.dtype != tensor.dtype || address == 0 || (address & tensor.align_mask) != tensor.align)
      return false;
    for (std::size_t d = 0; d < static_cast<std::size_t>(tensor.rank); ++d, ++dim) {
      if (view.sizes[d] != dim->size) return false;
      if (view.strides[d] != dim->stride && !(tensor.contiguous && dim->size == 1)) return false;
    }
    present[count++] = &view;
  }
  for (const Pair& pair : pairs_) {
    const TensorView &a = *present[pair.first], &b = *present[pair.second];
    const auto apart =
        reinterpret_cast<std::uintptr_t>(b.data) - reinterpret_cast<std::uintptr_t>(a.data);
    const bool meet = apart + pair.shift < pair.span;
    if (meet && !(pair.may_be_same && apart == 0) && may_overlap(a, b)) return false;
  }
  for (const Scalar& scalar : scalars_) {
    double value = 0;
    if (read_scalar(args, *scalar.step, value) != scalar.present) return false;
    if (!scalar.present) continue;
    if (scalar.exact && bits(value) != bits(scalar.value)) return false;
    if (!(value >= scalar.step->low && value <= scalar.step->high)) return false;
  }
  return true;
}

}  // namespace kw
