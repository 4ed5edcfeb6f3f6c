// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/call_pattern.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "kernelwright/core/field_access.hpp"

namespace kw {
namespace {

std::uint64_t bits(double value) noexcept { return std::bit_cast<std::uint64_t>(value); }

bool is_written(const CallStep& step) noexcept {
  return step.role == Role::kOutput || step.role == Role::kMutated;
}

}  // namespace

struct CallPattern::Draft {
  struct Present {
    const TensorView* view;
    int row, alias_of;
    bool written;
  };
  std::vector<Dim> dims;
  std::vector<Pair> pairs;
  std::vector<Scalar> scalars;
  std::vector<Tensor> tensors;
  std::vector<Present> present;

  // False: no pattern can hold it.
  bool add_tensor(const TensorView& view, const CallStep& step, int row) {
    Tensor tensor{step.offset, view.dtype, view.rank, 0, 0, false};
    if (view.present()) {
      const auto address = reinterpret_cast<std::uintptr_t>(view.data);
      if (address == 0 || view.numel() == 0 || present.size() == kMaxTensors) return false;
      const int align_class = std::countr_zero(address | 16U);
      tensor.align_mask = static_cast<std::uint8_t>(align_class == 4 ? 15 : (2 << align_class) - 1);
      tensor.align = static_cast<std::uint8_t>(address & tensor.align_mask);
      tensor.contiguous = view.contiguous();
      for (std::size_t d = 0; d < view.shape().size(); ++d)
        dims.push_back({view.sizes[d], view.strides[d]});
      present.push_back({&view, row, step.alias_of, is_written(step)});
    }
    tensors.push_back(tensor);
    return true;
  }

  void add_pair(std::size_t i, std::size_t j) {
    const Present &a = present[i], &b = present[j];
    if (!a.written && !b.written) return;
    const auto x = a.view->byte_range(), y = b.view->byte_range();
    const auto n = static_cast<std::uint64_t>(x.end - x.begin);
    const auto m = static_cast<std::uint64_t>(y.end - y.begin);
    TensorView moved = *b.view;
    moved.data = a.view->data;
    const bool declared = a.alias_of == b.row || b.alias_of == a.row;
    pairs.push_back({static_cast<std::uint64_t>(y.begin - x.begin) + m - 1, n + m - 1,
                     static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(j),
                     declared && is_same_tensor(*a.view, moved)});
  }
};

CallPattern::CallPattern(const Contract& contract, const void* args, int device_index) {
  Draft draft;
  int row = 0;
  for (const CallStep& step : contract.call_steps) {
    if (step.kind == Kind::kTensorList) return;
    if (step.kind == Kind::kTensor) {
      if (!draft.add_tensor(field_at<TensorView>(args, step.offset), step, row)) return;
    } else {
      double value = 0;
      const bool given = read_scalar(args, step, value);
      draft.scalars.push_back({step, value, given, step.value_in_key});
    }
    ++row;
  }
  for (std::size_t i = 0; i < draft.present.size(); ++i) {
    for (std::size_t j = i + 1; j < draft.present.size(); ++j) draft.add_pair(i, j);
  }

  const auto bytes = [](const auto& parts) {
    return static_cast<std::uint32_t>(parts.size() * sizeof parts[0]);
  };
  pairs_at_ = bytes(draft.dims);
  scalars_at_ = pairs_at_ + bytes(draft.pairs);
  tensors_at_ = scalars_at_ + bytes(draft.scalars);
  end_ = tensors_at_ + bytes(draft.tensors);
  block_ = std::make_unique<std::byte[]>(end_);
  const auto put = [&](std::uint32_t offset, const auto& parts) {
    if (!parts.empty()) std::memcpy(block_.get() + offset, parts.data(), bytes(parts));
  };
  put(0, draft.dims);
  put(pairs_at_, draft.pairs);
  put(scalars_at_, draft.scalars);
  put(tensors_at_, draft.tensors);
  device_index_ = device_index;
}

bool CallPattern::matches(const void* args, int device_index) const noexcept {
  if (device_index != device_index_ || !usable()) return false;
  std::array<const TensorView*, kMaxTensors> present;
  std::size_t count = 0;
  const Dim* dim = part<Dim>(0);
  for (const auto *tensor = part<Tensor>(tensors_at_), *end = part<Tensor>(end_); tensor != end;
       ++tensor) {
    const auto& view = field_at<TensorView>(args, tensor->offset);
    if (view.rank != tensor->rank) return false;
    if (tensor->rank < 0) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(view.data);
    if (view.dtype != tensor->dtype || address == 0 ||
        (address & tensor->align_mask) != tensor->align)
      return false;
    for (std::size_t d = 0; d < static_cast<std::size_t>(tensor->rank); ++d, ++dim) {
      if (view.sizes[d] != dim->size) return false;
      if (view.strides[d] != dim->stride && !(tensor->contiguous && dim->size == 1)) return false;
    }
    present[count++] = &view;
  }
  for (const auto *pair = part<Pair>(pairs_at_), *end = part<Pair>(scalars_at_); pair != end;
       ++pair) {
    const TensorView &a = *present[pair->first], &b = *present[pair->second];
    const auto apart =
        reinterpret_cast<std::uintptr_t>(b.data) - reinterpret_cast<std::uintptr_t>(a.data);
    const bool meet = apart + pair->shift < pair->span;
    if (meet && !(pair->may_be_same && apart == 0) && may_overlap(a, b)) return false;
  }
  for (const auto *scalar = part<Scalar>(scalars_at_), *end = part<Scalar>(tensors_at_);
       scalar != end; ++scalar) {
    double value = 0;
    if (read_scalar(args, scalar->step, value) != scalar->present) return false;
    if (!scalar->present) continue;
    if (scalar->exact && bits(value) != bits(scalar->value)) return false;
    if (!(value >= scalar->step.low && value <= scalar->step.high)) return false;
  }
  return true;
}

}  // namespace kw
